package fleet

import (
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// Difference is what lies between what is wanted and what runs.
type Difference struct {
	// Missing are wanted and have no workflow.
	Missing []store.KeyOfEngine
	// Strays run and are not wanted.
	Strays []Stray
	// Unnamed run, and whether they are wanted cannot be told yet: they have published nothing, and an id has the directory
	// only as a hash.
	Unnamed []string
	// Engines are in use, each once, in order.
	Engines []string
}

// Stray is a workflow of a connection that is not wanted.
type Stray struct {
	Key   delivery.Key
	RunID string
}

// Compare tells the difference. An empty list of what is wanted makes everything a stray.
func Compare(wanted []store.KeyOfEngine, running []connection.Listed) Difference {
	var d Difference
	byID := make(map[string]bool, len(wanted))
	for _, want := range wanted {
		byID[connection.ID(want.Key)] = true
		if want.EngineID != "" {
			d.Engines = append(d.Engines, want.EngineID)
		}
	}
	slices.Sort(d.Engines)
	d.Engines = slices.Compact(d.Engines)
	seen := make(map[string]bool, len(running))
	for _, row := range running {
		// A run that was just replaced may be listed beside the one that replaced it.
		if seen[row.WorkflowID] {
			continue
		}
		seen[row.WorkflowID] = true
		if byID[row.WorkflowID] {
			continue
		}
		if key, ok := keyOf(row); ok {
			d.Strays = append(d.Strays, Stray{Key: key, RunID: row.RunID})
		} else {
			d.Unnamed = append(d.Unnamed, row.WorkflowID)
		}
	}
	for _, want := range wanted {
		if !seen[connection.ID(want.Key)] {
			d.Missing = append(d.Missing, want)
		}
	}
	return d
}

// keyOf is the key that a workflow has published, where it is the one that its id was made from: of a name that was cut to
// fit into the id it is not.
func keyOf(row connection.Listed) (delivery.Key, bool) {
	if row.Snapshot == nil {
		return delivery.Key{}, false
	}
	key := delivery.Key{Workspace: row.Workspace, Name: row.Name, Directory: row.Snapshot.Directory}
	return key, connection.ID(key) == row.WorkflowID
}
