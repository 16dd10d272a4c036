package api_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// sent is one thing that a workflow was asked or told.
type sent struct {
	what    string
	key     delivery.Key
	id      string
	trigger string
}

// fakeConnections stands for connection workflows: it notes what comes in, and answers as scripted.
type fakeConnections struct {
	mu      sync.Mutex
	sent    []sent
	ended   map[string]bool                    // workflows that do not run, by id; asking them is not found
	fault   error                              // answers everything
	faults  map[string]error                   // answers one thing
	deaf    bool                               // no worker answers queries
	hold    chan struct{}                      // updates wait for it
	answers map[string]int                     // how often an update id was carried out
	ready   map[string]connection.Projection   // by workflow id
	moves   map[string][]connection.Transition // by workflow id
	tells   func(delivery.Key) connection.Snapshot
	pages   func(connection.Filter, connection.Page) ([]connection.Listed, string, error)
	lists   int
}

func newConnections() *fakeConnections {
	return &fakeConnections{
		ended: map[string]bool{}, answers: map[string]int{}, ready: map[string]connection.Projection{},
		moves: map[string][]connection.Transition{}, faults: map[string]error{},
	}
}

// failing lets one thing fail; nil: no more.
func (f *fakeConnections) failing(what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults[what] = err
}

func (f *fakeConnections) note(what string, key delivery.Key, id, trigger string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return f.fault
	}
	if err := f.faults[what]; err != nil {
		return err
	}
	if f.ended[connection.ID(key)] {
		return connection.ErrNotFound
	}
	f.sent = append(f.sent, sent{what, key, id, trigger})
	return nil
}

// of lists what was sent of a kind.
func (f *fakeConnections) of(what string) []sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	var some []sent
	for _, s := range f.sent {
		if s.what == what {
			some = append(some, s)
		}
	}
	return some
}

func (f *fakeConnections) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = err
}

func (f *fakeConnections) Ensure(_ context.Context, key delivery.Key, _ string, changed connection.DesiredChanged) error {
	f.mu.Lock()
	delete(f.ended, connection.ID(key))
	f.mu.Unlock()
	return f.note("ensure", key, "", changed.Trigger)
}

func (f *fakeConnections) update(ctx context.Context, what string, key delivery.Key, id string, in connection.Request) error {
	if err := f.note(what, key, id, in.Trigger); err != nil {
		return err
	}
	f.mu.Lock()
	f.answers[id]++
	hold := f.hold
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (f *fakeConnections) Probe(ctx context.Context, key delivery.Key, id string, in connection.Request) (connection.Health, error) {
	return connection.Health{}, f.update(ctx, "probe", key, id, in)
}

func (f *fakeConnections) Reconcile(ctx context.Context, key delivery.Key, id string, in connection.Request) (connection.Health, error) {
	return connection.Health{}, f.update(ctx, "reconcile", key, id, in)
}

func (f *fakeConnections) Refresh(
	ctx context.Context, key delivery.Key, id string, in connection.Request,
) (connection.RefreshResult, error) {
	at := time.Now()
	return connection.RefreshResult{Refresh: connection.Refresh{
		Performed: true, Trigger: in.Trigger, StartedAt: at, FinishedAt: &at,
		Steps: []connection.RefreshStep{{Step: "engine_disconnect", OK: true}, {Step: "reapply", OK: true, LatencyMillis: 4}},
	}}, f.update(ctx, "refresh", key, id, in)
}

func (f *fakeConnections) Remove(ctx context.Context, key delivery.Key, id string, in connection.Request) (connection.Health, error) {
	err := f.update(ctx, "remove", key, id, in)
	if err == nil {
		f.mu.Lock()
		f.ended[connection.ID(key)] = true
		f.mu.Unlock()
	}
	return connection.Health{}, err
}

func (f *fakeConnections) MarkStale(_ context.Context, key delivery.Key, reason string) error {
	return f.note("mark-stale", key, "", reason)
}

// hear waits as long as its caller where no worker answers.
func (f *fakeConnections) hear(ctx context.Context) error {
	f.mu.Lock()
	deaf := f.deaf
	f.mu.Unlock()
	if !deaf {
		return nil
	}
	<-ctx.Done()
	return connection.ErrNoWorker
}

func (f *fakeConnections) Snapshot(ctx context.Context, key delivery.Key, _ *string) (connection.Snapshot, error) {
	if err := f.hear(ctx); err != nil {
		return connection.Snapshot{}, err
	}
	return snapshotOf(key), f.note("snapshot", key, "", "")
}

func (f *fakeConnections) Projection(ctx context.Context, key delivery.Key) (connection.Projection, error) {
	if err := f.hear(ctx); err != nil {
		return connection.Projection{}, err
	}
	err := f.note("projection", key, "", "")
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready[connection.ID(key)], err
}

func (f *fakeConnections) Describe(_ context.Context, key delivery.Key) (connection.Description, error) {
	f.mu.Lock()
	snapshot := snapshotOf(key)
	if f.tells != nil {
		snapshot = f.tells(key)
	}
	f.mu.Unlock()
	return connection.Description{
		WorkflowID: connection.ID(key), RunID: "run", Running: true, StartedAt: time.Now(), Snapshot: &snapshot,
	}, f.note("describe", key, "", "")
}

func (f *fakeConnections) ListPage(_ context.Context, filter connection.Filter, p connection.Page) ([]connection.Listed, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	switch {
	case f.fault != nil:
		return nil, "", f.fault
	case f.pages != nil:
		return f.pages(filter, p)
	default:
		return nil, "", nil
	}
}

func (f *fakeConnections) History(_ context.Context, key delivery.Key) ([]connection.Transition, error) {
	err := f.note("history", key, "", "")
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.moves[connection.ID(key)]), err
}

func (f *fakeConnections) Transitions(_ context.Context, id string) ([]connection.Transition, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return nil, f.fault
	}
	return slices.Clone(f.moves[id]), nil
}

func (f *fakeConnections) move(key delivery.Key, to delivery.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := connection.ID(key)
	from := delivery.Pending
	if n := len(f.moves[id]); n > 0 {
		from = f.moves[id][n-1].To
	}
	f.moves[id] = append(f.moves[id], connection.Transition{
		Sequence: int64(len(f.moves[id]) + 1), From: from, To: to, At: time.Now(), Reason: "test", Generation: 1,
	})
}

func snapshotOf(key delivery.Key) connection.Snapshot {
	revision, at := "r1", time.Now()
	return connection.Snapshot{
		Snapshot:  delivery.Snapshot{State: delivery.Ready, DesiredRevision: &revision, AppliedRevision: &revision, UpdatedAt: &at, Generation: 1},
		Directory: key.Directory, EngineID: engineID, StateSince: &at,
	}
}

// fakeEngines notes which engines are watched.
type fakeEngines struct {
	mu    sync.Mutex
	known []string
}

func (f *fakeEngines) Ensure(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = append(f.known, id)
	return nil
}

// fakeDiagnosis answers with a document that is well, and notes how it was asked.
type fakeDiagnosis struct {
	mu    sync.Mutex
	asked []diagnosis.Options
	fault error
}

func (f *fakeDiagnosis) Read(_ context.Context, key delivery.Key, o diagnosis.Options) (diagnosis.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, o)
	if f.fault != nil {
		return diagnosis.Document{}, f.fault
	}
	none := diagnosis.Listing{Expected: []string{}, Present: []string{}, Missing: []string{}}
	return diagnosis.Document{
		SchemaVersion: 1, Phase: health.PhaseReady, Usable: true,
		Workspace: diagnosis.Workspace{ID: key.Workspace, Directory: &key.Directory},
		Desired:   diagnosis.Desired{Present: true, Name: key.Name},
		Delivery:  diagnosis.Delivery{Snapshot: snapshotOf(key), Source: "workflow"},
		Engine:    diagnosis.Engine{Status: "connected"},
		Tools: diagnosis.Tools{
			Listing: none, Direct: diagnosis.Direct{Listing: none, Source: "mcp_tools_list"},
			ProviderProjection: diagnosis.Projection{Checked: o.Provider != "", Present: []string{}, Missing: []string{}},
		},
		PluginCanaries: none,
		Compatibility:  diagnosis.Compatibility{PluginFileHashes: []string{}},
		CheckedAt:      time.Now(),
	}, nil
}

func (f *fakeDiagnosis) reads() []diagnosis.Options {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// fakeReload stands for the engine's instance.
type fakeReload struct {
	mu    sync.Mutex
	ended []string
	fault error
}

func (f *fakeReload) dispose(_ context.Context, _ store.Engine, directory string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return f.fault
	}
	f.ended = append(f.ended, directory)
	return nil
}
