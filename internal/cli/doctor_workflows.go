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

// examineWorkflows compares what is wanted with what runs, and tells what is wrong with what runs.
func (s *session) examineWorkflows(ctx context.Context, found *findings) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	wanted, d, err := s.reconciler(s.remote, s.opened).Preview(ctx)
	if err != nil {
		found.fail("workflows", listAction(err, s.settings.Temporal.TaskQueue), "%v", explainRemote(err, s.remote.Namespace))
		return
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
		found.fail("workflows", reconcileFleet, "%d of %d connections have none running: %s", len(missing), wanted, firstOf(missing))
	case wanted > 0:
		found.ok("workflows", "each of %d connections has one running", wanted)
	}
	if len(strays) > 0 {
		found.warn("workflows", reconcileFleet, "%d run of connections that are not wanted any more: %s", len(strays), firstOf(strays))
	}
	s.examineFleet(ctx, found)
	s.examineStates(ctx, found)
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

// examineStates tells of each failure once, with the connections that have it.
func (s *session) examineStates(ctx context.Context, found *findings) {
	rows, err := s.remote.Connections.List(ctx, connection.Filter{TaskQueue: s.settings.Temporal.TaskQueue})
	if err != nil {
		found.fail("connections", listAction(err, s.settings.Temporal.TaskQueue), "%v", explainRemote(err, s.remote.Namespace))
		return
	}
	if states, _ := summary(rows); states != "" {
		found.ok("connections", "%s", states)
	}
	names := map[string][]string{}
	troubles := map[string]trouble{}
	for _, row := range rows {
		t, troubled := troubleOf(row.Snapshot)
		if !troubled {
			continue
		}
		id := string(t.state) + " " + string(t.failure.Code)
		names[id] = append(names[id], row.Workspace+"/"+row.Name)
		troubles[id] = t
	}
	for _, id := range sortedNames(names) {
		f := troubles[id].failure
		message := fmt.Sprintf("%d %s with %s: %s", len(names[id]), troubles[id].state, strings.TrimSuffix(f.Error(), "."), firstOf(names[id]))
		if cause := f.Cause(); cause != "" && len(names[id]) == 1 {
			message += ": " + cause
		}
		found.warn("connections", f.RecommendedAction+" See: holdfast connection list --failure-code "+string(f.Code), "%s", message)
	}
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

// examineIntents tells what somebody has switched off or taken away: the usual reason for what looks forgotten.
func (s *session) examineIntents(ctx context.Context, found *findings) {
	intents, err := s.opened.Intents(ctx, store.IntentFilter{})
	if err != nil {
		found.fail("intents", storeAction(err), "%v", err)
		return
	}
	for _, intent := range intents {
		if intent.Kind == store.IntentEnabled {
			continue
		}
		what, of := "switched off", "connection enable "+intent.Workspace+"/"+intent.Name
		if intent.Account != "" {
			of = "account enable " + intent.Account + "/" + intent.Name
		}
		if intent.Kind == store.IntentRemoved {
			what = "removed"
		}
		found.info("intents", "want it again: holdfast "+of, "%s is %s%s", intent, what, whoAndWhy(intent))
	}
}
