package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	// atOnce is how many connections a command works on at the same time.
	atOnce = 16
	// waitAtOnce is how many it waits for: a wait is a call that rests in the server.
	waitAtOnce = 64

	ensureTimeout = 15 * time.Second
)

// What an apply did to a connection.
const (
	changeWritten = "changed"
	changeNone    = "unchanged"
)

// applied is one connection of an apply.
type applied struct {
	view

	Change   string `json:"change"`
	Revision string `json:"revision"`
	Error    string `json:"error,omitempty"`

	key     delivery.Key
	verdict error
}

// apply writes what is wanted, and then tells the workflows. Temporal is reached before anything is written, so that what
// cannot be told is not written either.
func (s *session) apply(ctx context.Context, wanted plan, wait waitFlags, request *requestFlags) error {
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	if _, err := enginesOf(ctx, st, wanted); err != nil {
		return err
	}
	remote, err := s.connect(ctx)
	if err != nil {
		return err
	}
	done, err := s.write(ctx, st, wanted)
	if err != nil {
		return err
	}
	if err := s.start(ctx, remote, done); err != nil {
		return fmt.Errorf("what is wanted is stored, but not every workflow was told: %w; run the same command again", err)
	}
	s.app.warnOfMissing(done)
	request.id() // one id for all of them, made before they part
	group := errgroup.Group{}
	group.SetLimit(waitAtOnce)
	for _, one := range done {
		group.Go(func() error {
			s.follow(ctx, remote, one, wait, *request)
			return nil
		})
	}
	_ = group.Wait() // none returns an error: each keeps its own
	return s.app.printApplied(done, wanted.many)
}

// warnOfMissing says which directories are not on this machine: an engine takes any, and a mistyped one looks fine there.
func (a *App) warnOfMissing(done []*applied) {
	for _, one := range done {
		if _, err := os.Stat(one.key.Directory); errors.Is(err, os.ErrNotExist) {
			a.say("holdfast: %s: there is no directory %s on this machine; right only where the engine runs elsewhere",
				short(one.key), one.key.Directory)
		}
	}
}

// enginesOf gives the plan's engines in their order, complete with what the store has of them.
func enginesOf(ctx context.Context, st *store.Store, wanted plan) ([]store.Engine, error) {
	known, err := st.Engines(ctx)
	var corrupt *store.CorruptRowError
	if err != nil && !errors.As(err, &corrupt) {
		return nil, err
	}
	engines := make([]store.Engine, 0, len(wanted.engines))
	for _, e := range wanted.engines {
		row, err := e.merge(known)
		if err != nil {
			return nil, err
		}
		engines = append(engines, row)
	}
	return engines, nil
}

// write puts engines, then connections. The engines are read again: another process may have changed them meanwhile.
func (s *session) write(ctx context.Context, st *store.Store, wanted plan) ([]*applied, error) {
	engines, err := enginesOf(ctx, st, wanted)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for i, e := range engines {
		ids[wanted.engines[i].id] = e.ID
		if _, err := st.PutEngine(ctx, e); err != nil {
			return nil, err
		}
	}
	done := make([]*applied, 0, len(wanted.connections))
	for _, want := range wanted.connections {
		want.EngineID = ids[want.EngineID]
		one, err := s.put(ctx, st, want)
		if err != nil {
			return nil, err
		}
		done = append(done, one)
	}
	return done, nil
}

// merge completes an engine with what the store has of it.
func (e plannedEngine) merge(known []store.Engine) (store.Engine, error) {
	row := store.Engine{ID: e.id, BaseURL: e.url}
	for _, k := range known {
		if k.ID == e.id || (e.derived && k.BaseURL == e.url) {
			row.ID, row.Username, row.Password = k.ID, k.Username, k.Password
			if row.BaseURL == "" {
				row.BaseURL = k.BaseURL
			}
			break
		}
	}
	if row.BaseURL == "" {
		// Not quoted: an address that lacks its scheme may hold a password.
		return row, usagef("--engine is neither a URL nor the id of a known engine")
	}
	if e.username != nil {
		row.Username = *e.username
	}
	if e.password != nil {
		row.Password = *e.password
	}
	return row, nil
}

func (s *session) put(ctx context.Context, st *store.Store, want store.Desired) (*applied, error) {
	keyset, err := s.keys()
	if err != nil {
		return nil, err
	}
	revision, err := desired.Revision(keyset.MAC(), want.Profile, want.Config, want.Metadata)
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", short(want.Key), err)
	}
	changed, err := st.PutDesired(ctx, want)
	if err != nil {
		return nil, err
	}
	one := &applied{view: newView(want.Key), key: want.Key, Revision: revision, Change: changeNone}
	one.Engine = want.EngineID
	if changed {
		one.Change = changeWritten
	}
	return one, nil
}

// start makes sure that every connection and every engine has its workflow.
func (s *session) start(ctx context.Context, remote *Remote, done []*applied) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	engines := map[string]bool{}
	for _, one := range done {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
			defer cancel()
			changed := connection.DesiredChanged{Revision: one.Revision, Trigger: "apply"}
			return remote.Connections.Ensure(ctx, one.key, one.Engine, changed)
		})
		if engines[one.Engine] {
			continue
		}
		engines[one.Engine] = true
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
			defer cancel()
			return remote.Engines.Ensure(ctx, one.Engine)
		})
	}
	return group.Wait()
}

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

func (a *App) printApplied(done []*applied, many bool) error {
	verdicts := make([]error, 0, len(done))
	var said []error
	for _, one := range done {
		verdicts = append(verdicts, one.verdict)
		if one.verdict != nil {
			said = append(said, one.verdict)
		}
	}
	if err := a.printAppliedTable(done, many); err != nil {
		return err
	}
	if len(said) == 0 {
		return nil
	}
	return &CodeError{Code: worstExit(verdicts), Cause: errors.Join(said...)}
}

func (a *App) printAppliedTable(done []*applied, many bool) error {
	switch {
	case a.JSON() && many:
		return a.printJSON(done)
	case a.JSON():
		return a.printJSON(done[0])
	}
	t := a.newTable("connection", "change", "state", "engine", "directory")
	for _, one := range done {
		t.AppendRow([]any{short(one.key), one.Change, one.Snapshot.State, one.Engine, one.Directory})
	}
	t.Render()
	return nil
}
