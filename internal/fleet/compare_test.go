package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/fleet"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func keyOf(i int) delivery.Key {
	return delivery.Key{Workspace: fmt.Sprintf("w%d", i/3), Name: fmt.Sprintf("n%d", i%3), Directory: fmt.Sprintf("/srv/%d", i)}
}

func want(i int) store.KeyOfEngine {
	return store.KeyOfEngine{Key: keyOf(i), EngineID: fmt.Sprintf("e%d", i%2)}
}

func row(key delivery.Key) connection.Listed {
	return connection.Listed{
		WorkflowID: connection.ID(key), RunID: "run of " + key.String(), Workspace: key.Workspace, Name: key.Name,
		Snapshot: &connection.Snapshot{Directory: key.Directory},
	}
}

func TestPropertyTheDifferenceIsWhatIsInOneAndNotInTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfNDistinct(rapid.IntRange(0, 20), 0, 20, rapid.ID[int])
		wanted, runs := numbers.Draw(t, "wanted"), numbers.Draw(t, "runs")
		var keys []store.KeyOfEngine
		for _, i := range wanted {
			keys = append(keys, want(i))
		}
		var rows []connection.Listed
		for _, i := range runs {
			rows = append(rows, row(keyOf(i)))
		}
		d := fleet.Compare(keys, rows)
		var missing, strays int
		for i := range 21 {
			isWanted, isRunning := slices.Contains(wanted, i), slices.Contains(runs, i)
			require.Equal(t, isWanted && !isRunning, slices.ContainsFunc(d.Missing, func(m store.KeyOfEngine) bool { return m.Key == keyOf(i) }))
			require.Equal(t, !isWanted && isRunning, slices.ContainsFunc(d.Strays, func(s fleet.Stray) bool { return s.Key == keyOf(i) }))
			if isWanted && !isRunning {
				missing++
			}
			if !isWanted && isRunning {
				strays++
			}
		}
		require.Len(t, d.Missing, missing)
		require.Len(t, d.Strays, strays)
		require.Empty(t, d.Unnamed)
		require.LessOrEqual(t, len(d.Engines), 2)
	})
}

func TestAWorkflowThatDoesNotTellItsKeyIsNoStray(t *testing.T) {
	t.Parallel()
	silent := row(keyOf(1))
	silent.Snapshot = nil
	other := row(keyOf(2))
	other.Snapshot = &connection.Snapshot{Directory: "/another"}
	long := delivery.Key{Workspace: strings.Repeat("w", 200), Name: "n", Directory: "/d"}
	cut := row(long)
	cut.Workspace = long.Workspace[:80]
	d := fleet.Compare(nil, []connection.Listed{silent, other, cut})
	require.Empty(t, d.Strays)
	require.Len(t, d.Unnamed, 3)
	require.Empty(t, fleet.Compare([]store.KeyOfEngine{{Key: long}}, []connection.Listed{cut}).Unnamed, "one that is wanted is known by its id")
}

func TestARunThatIsListedTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	before := row(keyOf(1))
	before.RunID = "an earlier run"
	d := fleet.Compare(nil, []connection.Listed{row(keyOf(1)), before})
	require.Equal(t, []fleet.Stray{{Key: keyOf(1), RunID: row(keyOf(1)).RunID}}, d.Strays)
}
