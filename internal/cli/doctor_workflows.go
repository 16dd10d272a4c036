package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

const (
	namedAtMost = 5

	reconcileFleet = "run holdfast fleet reconcile"
)

// firstOf names some, in order.
func firstOf(names []string) string {
	slices.Sort(names)
	text := strings.Join(names[:min(namedAtMost, len(names))], ", ")
	if more := len(names) - namedAtMost; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// examineWorkflows compares what is wanted with what runs, and tells what is wrong with what runs. It gives what each connection
// has failed with.
func (s *session) examineWorkflows(ctx context.Context, found *findings) map[store.Key]health.Failure {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	wanted, d, err := s.reconciler(s.remote, s.opened).Preview(ctx)
	if err != nil {
		found.fail("workflows", listAction(err, s.settings.Temporal.TaskQueue), "%v", explainRemote(err, s.remote.Namespace))
		return nil
	}
	missing := make([]string, 0, len(d.Missing))
	for _, want := range d.Missing {
		missing = append(missing, short(want.Key))
	}
	strays := make([]string, 0, len(d.Strays))
	for _, stray := range d.Strays {
		strays = append(strays, short(stray.Key))
	}
	switch {
	case len(missing) > 0:
		found.fail("workflows", reconcileFleet, "%d of %s %s none running: %s",
			len(missing), count(wanted, "connection"), pick(len(missing), "has", "have"), firstOf(missing))
	case wanted == 1:
		found.ok("workflows", "the one connection has one running")
	case wanted > 0:
		found.ok("workflows", "each of %d connections has one running", wanted)
	}
	if len(strays) > 0 {
		found.warn("workflows", reconcileFleet, "%s not wanted any more and still %s one running: %s",
			count(len(strays), "connection")+pick(len(strays), " is", " are"), pick(len(strays), "has", "have"), firstOf(strays))
	}
	s.examineFleet(ctx, found)
	return s.examineStates(ctx, found)
}

// listAction is the next step where workflows cannot be listed.
func listAction(err error, queue string) string {
	if errors.Is(err, connection.ErrSealed) {
		return "these keysets did not seal what runs on the task queue " + queue + ": restore the right ones from a backup, or give this " +
			"installation a namespace (TEMPORAL_NAMESPACE) or a task queue (temporal.task_queue) of its own"
	}
	return "run holdfast setup, then look again"
}

// examineFleet looks at the workflow that compares by itself.
func (s *session) examineFleet(ctx context.Context, found *findings) {
	d, err := s.remote.Fleet.Describe(ctx)
	switch {
	case errors.Is(err, fleet.ErrNotFound), err == nil && !d.Running:
		found.warn("fleet", "run holdfast setup, or start a worker: either starts it", "nothing compares what is wanted with what runs")
	case err != nil:
		found.warn("fleet", "look again; see: holdfast fleet status", "%v", err)
	case strings.HasPrefix(d.Said, "not in order"):
		found.warn("fleet", reconcileFleet+": it names what fails", "%s", d.Said)
	default:
		found.ok("fleet", "is compared by itself; last: %s", orNone(d.Said))
	}
}

// trouble is what several connections suffer from.
type trouble struct {
	state   delivery.State
	failure health.Failure
}

// text is what connections have in common that are told of together.
func (t trouble) text() string {
	return fmt.Sprintf("%s with %s%s", t.state, sentence(t.failure), lacking(t.failure))
}

// lacking names the tools that a failure says are missing.
func lacking(f health.Failure) string {
	var names []string
	switch missing := f.Details["missing"].(type) {
	case []string:
		names = slices.Clone(missing)
	case []any: // as it comes out of JSON
		for _, name := range missing {
			names = append(names, fmt.Sprint(name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", missing " + firstOf(names)
}

// examineStates tells of each failure once, with the connections that have it.
func (s *session) examineStates(ctx context.Context, found *findings) map[store.Key]health.Failure {
	rows, err := s.remote.Connections.List(ctx, connection.Filter{TaskQueue: s.settings.Temporal.TaskQueue})
	if err != nil {
		found.fail("connections", listAction(err, s.settings.Temporal.TaskQueue), "%v", explainRemote(err, s.remote.Namespace))
		return nil
	}
	if states, _ := summary(rows); states != "" {
		found.ok("connections", "%s", states)
	}
	failed := map[store.Key]health.Failure{}
	names := map[string][]string{}
	troubles := map[string]trouble{}
	for _, row := range rows {
		t, troubled := troubleOf(row.Snapshot)
		if !troubled {
			continue
		}
		failed[store.Key{Workspace: row.Workspace, Name: row.Name, Directory: row.Snapshot.Directory}] = t.failure
		text := t.text()
		names[text], troubles[text] = append(names[text], row.Workspace+"/"+row.Name), t
	}
	for _, text := range sortedNames(names) {
		f := troubles[text].failure
		message := fmt.Sprintf("%d %s: %s", len(names[text]), text, firstOf(names[text]))
		if cause := f.Cause(); cause != "" && len(names[text]) == 1 {
			message += ": " + cause
		}
		found.warn("connections", f.RecommendedAction+" See: holdfast connection list --failure-code "+string(f.Code), "%s", message)
	}
	return failed
}

// troubleOf is what is wrong with a connection that is wanted. One that was switched off is not in trouble.
func troubleOf(s *connection.Snapshot) (trouble, bool) {
	if s == nil || s.Failure == nil || s.Failure.Code == health.CodeDisabled {
		return trouble{}, false
	}
	switch s.State {
	case delivery.Failed, delivery.Stale:
		return trouble{state: s.State, failure: *s.Failure}, true
	default:
		return trouble{}, false
	}
}

func sortedNames(of map[string][]string) []string {
	ids := make([]string, 0, len(of))
	for id := range of {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
