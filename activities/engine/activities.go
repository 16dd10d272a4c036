package engine

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what these activities read and write.
type Store interface {
	Engine(ctx context.Context, id string) (store.Engine, error)
	KeysByEngine(ctx context.Context, engineID string) ([]store.Key, error)
	Probe(ctx context.Context, key store.Key) (store.ProbeState, error)
	BeginPush(ctx context.Context, key store.Key, push store.Push) error
	FinishPush(ctx context.Context, key store.Key, at time.Time) error
	LastPush(ctx context.Context, key store.Key) (store.Push, error)
}

// Signals tells a connection's workflow that a generation of its entry is over. A workflow that is not there is no error.
type Signals interface {
	GenerationOver(ctx context.Context, key delivery.Key, generation int64, reason string) error
}

// Settings are the times of the looks.
type Settings struct {
	// PollInterval is between two looks at the engine; at least a second, the server's grain.
	PollInterval time.Duration
	// ProbeInterval is between two probes of the endpoint of a ready connection.
	ProbeInterval time.Duration
	// Jitter is the part of both intervals that is varied at random, 0 to 0.5.
	Jitter float64
	// EngineTimeout bounds each call of the engine.
	EngineTimeout time.Duration
	// RestSpan is how long one look waits for sessions to rest; 0 means 10 s. It must be well below the look's timeout.
	RestSpan time.Duration
}

// Params is what the activities are made of.
type Params struct {
	Store    Store
	Resolver *desired.Resolver
	Prober   *endpoint.Prober
	Signals  Signals
	Settings Settings
	Log      *slog.Logger
	// Moved reports whether a token source of this machine, a variable or a file, holds another token than the store, and
	// another one than that of the digest; nil: none does.
	Moved func(ctx context.Context, want desired.Resolved, refused string) bool
	// Now is the clock; nil is the system's. Tests that skip time give theirs.
	Now func() time.Time
}

// Activities are the activities of this package.
type Activities struct {
	store    Store
	resolver *desired.Resolver
	prober   *endpoint.Prober
	signals  Signals
	settings Settings
	log      *slog.Logger
	moved    func(ctx context.Context, want desired.Resolved, refused string) bool
	now      func() time.Time

	clients   *clients
	restSlots chan struct{} // held by looks that wait for sessions
}

// NewActivities makes the activities.
func NewActivities(p Params) *Activities {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Settings.RestSpan == 0 {
		p.Settings.RestSpan = defaultRestSpan
	}
	return &Activities{
		store: p.Store, resolver: p.Resolver, prober: p.Prober, signals: p.Signals, settings: p.Settings, log: p.Log,
		moved: p.Moved, now: p.Now, clients: newClients(p.Store, p.Settings.EngineTimeout),
		restSlots: make(chan struct{}, restWaits),
	}
}

// Close ends the connections to engines.
func (a *Activities) Close() { a.clients.close() }

// Register makes the activities known to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.RegisterServer, activity.RegisterOptions{Name: RegisterName})
	r.RegisterActivityWithOptions(a.Inspect, activity.RegisterOptions{Name: InspectName})
	r.RegisterActivityWithOptions(a.DisconnectServer, activity.RegisterOptions{Name: DisconnectName})
	r.RegisterActivityWithOptions(a.WatchEngine, activity.RegisterOptions{Name: WatchName})
}
