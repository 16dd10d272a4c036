package cli_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// fakeConnections stands for workflows: it notes what was asked, and answers as scripted. What is not scripted is not found.
type fakeConnections struct {
	mu    sync.Mutex
	calls []string
	ids   []string // request ids of updates

	ensured []connection.DesiredChanged
	keys    []delivery.Key
	filter  connection.Filter
	reason  string
	stale   error

	ensureFault error

	update   func(verb string) (connection.Health, error)
	health   func() (connection.Health, error)
	describe func() (connection.Description, error)
	history  func() ([]connection.Transition, error)
	listed   []connection.Listed
}

func (f *fakeConnections) note(call string, key delivery.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	f.keys = append(f.keys, key)
}

func (f *fakeConnections) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *fakeConnections) updated(verb, id string, key delivery.Key) (connection.Health, error) {
	f.note(verb, key)
	f.mu.Lock()
	f.ids = append(f.ids, id)
	f.mu.Unlock()
	if f.update == nil {
		return connection.Health{}, connection.ErrNotFound
	}
	return f.update(verb)
}

func (f *fakeConnections) Ensure(_ context.Context, key delivery.Key, _ string, changed connection.DesiredChanged) error {
	f.note("ensure", key)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ensured = append(f.ensured, changed)
	return f.ensureFault
}

func (f *fakeConnections) Probe(_ context.Context, key delivery.Key, id string, _ connection.Request) (connection.Health, error) {
	return f.updated("probe", id, key)
}

func (f *fakeConnections) Reconcile(_ context.Context, key delivery.Key, id string, _ connection.Request) (connection.Health, error) {
	return f.updated("reconcile", id, key)
}

func (f *fakeConnections) Refresh(
	_ context.Context, key delivery.Key, id string, in connection.Request,
) (connection.RefreshResult, error) {
	h, err := f.updated("refresh", id, key)
	return connection.RefreshResult{Health: h, Refresh: connection.Refresh{
		Performed: true, Trigger: in.Trigger,
		Steps: []connection.RefreshStep{{Step: "engine_disconnect", OK: true, LatencyMillis: 3}, {Step: "reapply", OK: h.Usable, LatencyMillis: 40}},
	}}, err
}

func (f *fakeConnections) Remove(_ context.Context, key delivery.Key, id string, _ connection.Request) (connection.Health, error) {
	return f.updated("remove", id, key)
}

func (f *fakeConnections) MarkStale(_ context.Context, key delivery.Key, reason string) error {
	f.note("mark-stale", key)
	f.reason = reason
	return f.stale
}

func (f *fakeConnections) Snapshot(_ context.Context, key delivery.Key, _ *string) (connection.Snapshot, error) {
	f.note("snapshot", key)
	if f.health == nil {
		return connection.Snapshot{}, connection.ErrNoWorker
	}
	h, err := f.health()
	return h.Delivery, err
}

func (f *fakeConnections) Health(_ context.Context, key delivery.Key) (connection.Health, error) {
	f.note("health", key)
	if f.health == nil {
		return connection.Health{}, connection.ErrNoWorker
	}
	return f.health()
}

func (f *fakeConnections) Describe(_ context.Context, key delivery.Key) (connection.Description, error) {
	f.note("describe", key)
	if f.describe == nil {
		return connection.Description{}, connection.ErrNotFound
	}
	return f.describe()
}

func (f *fakeConnections) Wake(_ context.Context, key delivery.Key) error {
	f.note("wake", key)
	return nil
}

func (f *fakeConnections) List(_ context.Context, filter connection.Filter) ([]connection.Listed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	return f.listed, nil
}

func (f *fakeConnections) ListPage(
	_ context.Context, filter connection.Filter, _ connection.Page,
) ([]connection.Listed, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.filter = filter
	return f.listed, "", nil
}

func (f *fakeConnections) History(_ context.Context, key delivery.Key) ([]connection.Transition, error) {
	f.note("history", key)
	if f.history == nil {
		return nil, connection.ErrNoWorker
	}
	return f.history()
}

// fakeEngines notes which engines are watched.
type fakeEngines struct {
	mu  sync.Mutex
	ids []string
}

func (f *fakeEngines) Ensure(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = append(f.ids, id)
	return nil
}

// Running finds none.
func (f *fakeEngines) Running(context.Context, string) (bool, error) { return false, nil }

// fakeFleet notes what was asked of it.
type fakeFleet struct {
	mu    sync.Mutex
	calls []string

	description fleet.Description
	passes      *fleet.Snapshot
}

func (f *fakeFleet) note(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
	return nil
}

func (f *fakeFleet) Ensure(context.Context) error       { return f.note("ensure") }
func (f *fakeFleet) ReconcileNow(context.Context) error { return f.note("reconcile-now") }

func (f *fakeFleet) Describe(context.Context) (fleet.Description, error) {
	if f.description.WorkflowID == "" {
		return fleet.Description{}, fleet.ErrNotFound
	}
	return f.description, nil
}

func (f *fakeFleet) Snapshot(context.Context) (fleet.Snapshot, error) {
	if f.passes == nil {
		return fleet.Snapshot{}, connection.ErrNoWorker
	}
	return *f.passes, nil
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// standing is a health in a state, of the revision that is given.
func standing(state delivery.State, revision string) connection.Health {
	h := connection.Health{SchemaVersion: 1, Workspace: "acme", Name: "search", Usable: state == delivery.Ready}
	at := noon
	h.Delivery = connection.Snapshot{EngineID: "127.0.0.1-4096", Directory: "/srv/acme"}
	h.Delivery.State, h.Delivery.UpdatedAt, h.Delivery.StateSince = state, &at, &at
	h.Delivery.DesiredRevision = &revision
	if state == delivery.Ready {
		h.Delivery.AppliedRevision, h.Delivery.AppliedAt = &revision, &at
	}
	return h
}

// running describes a workflow that has published a snapshot.
func running(s connection.Snapshot) func() (connection.Description, error) {
	return func() (connection.Description, error) {
		return connection.Description{WorkflowID: "connection:acme:search:1", RunID: "run-1", Running: true, Snapshot: &s}, nil
	}
}
