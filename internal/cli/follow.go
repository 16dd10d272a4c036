package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// follow waits for a connection where that is wanted, and reads how it stands.
func (s *session) follow(ctx context.Context, remote *Remote, one *applied, wait waitFlags, request requestFlags) {
	c := remote.Connections
	var h *connection.Health
	if wait.on() {
		w := &waiter{
			connections: c, key: one.key, revision: &one.Revision, timeout: wait.timeout, pause: s.app.options.PollEvery,
		}
		h, one.verdict = w.ready(ctx, func(ctx context.Context) (connection.Health, error) {
			return c.Reconcile(ctx, one.key, request.id(), request.request())
		})
	}
	engine := one.Engine
	one.view = finalView(ctx, c, one.key, h)
	one.Engine = engine
	if one.Snapshot == nil || (h == nil && deref(one.Snapshot.DesiredRevision) != one.Revision) {
		// What was published is about another revision: of this one nothing is known yet.
		one.Snapshot = &connection.Snapshot{
			Snapshot: delivery.Entry{}.SnapshotOf(one.Revision), EngineID: engine, Directory: one.key.Directory,
		}
	}
	if one.verdict != nil {
		one.Error = one.verdict.Error()
	}
}

func (a *App) printApplied(done []*applied, only *delivery.Key) error {
	verdicts := make([]error, 0, len(done))
	var said []error
	for _, one := range done {
		verdicts = append(verdicts, one.verdict)
		if one.verdict != nil {
			said = append(said, one.verdict)
		}
	}
	if err := a.printAppliedTable(done, only); err != nil {
		return err
	}
	if len(said) == 0 {
		return nil
	}
	return &CodeError{Code: worstExit(verdicts), Cause: errors.Join(said...)}
}

func (a *App) printAppliedTable(done []*applied, only *delivery.Key) error {
	switch {
	case a.JSON() && only == nil:
		return a.printJSON(done)
	case a.JSON():
		return a.printJSON(done[slices.IndexFunc(done, func(one *applied) bool { return one.key == *only })])
	case len(done) == 0:
		return nil
	}
	t := a.newTable("connection", "change", "state", "engine", "directory")
	for _, one := range done {
		t.AppendRow([]any{short(one.key), one.Change, one.state(), orNone(one.Engine), one.Directory})
	}
	t.Render()
	return nil
}

// state is for people.
func (a *applied) state() string {
	switch {
	case a.removed:
		return "removed"
	case a.Snapshot == nil:
		return noValue
	default:
		return string(a.Snapshot.State)
	}
}
