package engine_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

const (
	toolsList    = "tools/list"
	soon         = 20 * time.Second
	pollInterval = 30 * time.Second
	probeEvery   = time.Minute
	restSpan     = 300 * time.Millisecond
)

// rig is the activities with the other sides that they talk to, and one connection.
type rig struct {
	*peers.Peers

	activities *engine.Activities
	signals    *signals
	key        store.Key
	revision   string
}

// signalled is one signal as a connection gets it.
type signalled struct {
	key        delivery.Key
	generation int64
	reason     string
}

// signals keeps what connections are told.
type signals struct {
	mu  sync.Mutex
	all []signalled
}

func (s *signals) GenerationOver(_ context.Context, key delivery.Key, generation int64, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, signalled{key, generation, reason})
	return nil
}

func (s *signals) to(key delivery.Key) []signalled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(each signalled) bool { return each.key != key })
}

func newRig(t *testing.T, o peers.Options, edits ...func(*engine.Settings)) *rig {
	t.Helper()
	r := &rig{Peers: peers.New(t, o), signals: &signals{}}
	settings := engine.Settings{PollInterval: pollInterval, ProbeInterval: probeEvery, EngineTimeout: 2 * time.Second}
	settings.RestSpan = restSpan
	for _, edit := range edits {
		edit(&settings)
	}
	r.activities = engine.NewActivities(engine.Params{
		Store: r.Store, Resolver: r.Resolver, Signals: r.signals, Settings: settings, Now: r.Clock.Now,
		Prober: endpoint.NewProber(r.Store, 5*time.Second).WithClock(r.Clock.Now), Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(r.activities.Close)
	r.key = r.Key()
	r.revision = r.Want(r.key)
	return r
}

func (r *rig) register(t *testing.T, edits ...func(*engine.RegisterRequest)) (engine.RegisterResult, error) {
	t.Helper()
	in := engine.RegisterRequest{Key: r.key, Revision: r.revision, Generation: 1}
	for _, edit := range edits {
		edit(&in)
	}
	return peers.Try[engine.RegisterResult](t, r.activities, engine.RegisterName, in)
}

// deliver registers and requires that it went well.
func (r *rig) deliver(t *testing.T) {
	t.Helper()
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
}

func (r *rig) inspect(t *testing.T, edits ...func(*engine.InspectRequest)) (engine.InspectResult, error) {
	t.Helper()
	in := engine.InspectRequest{
		Key: r.key, Revision: r.revision, Generation: 1, Mode: engine.ModeWatch, Status: "connected", Proven: true,
	}
	for _, edit := range edits {
		edit(&in)
	}
	return peers.Try[engine.InspectResult](t, r.activities, engine.InspectName, in)
}

// decide inspects and requires a decision.
func (r *rig) decide(t *testing.T, want engine.Decision, edits ...func(*engine.InspectRequest)) engine.InspectResult {
	t.Helper()
	got, err := r.inspect(t, edits...)
	require.NoError(t, err)
	require.Equal(t, want, got.Decision, "failure: %v", got.Failure)
	return got
}

// rest inspects and requires that there is nothing to decide; it returns the wait.
func (r *rig) rest(t *testing.T, reason string, edits ...func(*engine.InspectRequest)) time.Duration {
	t.Helper()
	got, err := r.inspect(t, edits...)
	require.Error(t, err, "decided: %s", got.Decision)
	said, wait := peers.RequireNotDue(t, err)
	require.Equal(t, reason, said)
	return wait
}

// failed makes an inspection one of a connection that failed so.
func failed(f health.Failure) func(*engine.InspectRequest) {
	return func(in *engine.InspectRequest) { in.Mode, in.Failure = engine.ModeRecover, &f }
}

func degraded(in *engine.InspectRequest) { in.Degraded = true }

func once(in *engine.InspectRequest) { in.Once = true }

func idle(in *engine.InspectRequest) { in.Mode = engine.ModeIdle }

// last is the engine's last known word for the entry.
func last(status string) func(*engine.InspectRequest) {
	return func(in *engine.InspectRequest) { in.Status = status }
}

// handshakes is how often the endpoint was asked for a session.
func (r *rig) handshakes() int { return r.Endpoint.Count("initialize") }

func (r *rig) posts() int { return r.Engine.Calls(simulator.RouteRegister, r.key.Directory) }
