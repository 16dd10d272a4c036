package executions

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
)

const (
	// DefaultHold is how long a caller waits at most for an execution.
	DefaultHold = 50 * time.Second
	// MaxHold bounds what a caller may ask for.
	MaxHold            = 5 * time.Minute
	defaultWindow      = 4 * time.Minute
	defaultCallTimeout = 2 * time.Minute
	defaultRetention   = 7 * 24 * time.Hour
	// storeTimeout and temporalTimeout bound single steps: whatever does not answer in time cannot be reached.
	storeTimeout    = 5 * time.Second
	temporalTimeout = 10 * time.Second
	// schemaTimeout is shorter than storeTimeout: what is read of the store afterwards still has its time.
	schemaTimeout  = time.Second
	maxRequestName = 300
	maxSuggestions = 5
)

var errClosed = errors.New("the gateway is stopping")

// Settings are limits of time; 0 is the default of each.
type Settings struct {
	// Window is how long a person may take where no rule says so; 4 minutes.
	Window time.Duration
	// Hold is how long a caller waits at most before it is told that its execution goes on; 50 seconds.
	Hold time.Duration
	// CallTimeout bounds one call of a tool; 2 minutes.
	CallTimeout time.Duration
	// Retention is how long the outcome of a run that is gone is kept; 168 hours. That of others is kept by their workers' settings.
	Retention time.Duration
	// Sweep is how often executions are looked for whose runs are gone; 0: never.
	Sweep time.Duration
}

func (s Settings) complete() Settings {
	for _, each := range []struct {
		value   *time.Duration
		instead time.Duration
	}{{&s.Window, defaultWindow}, {&s.Hold, DefaultHold}, {&s.CallTimeout, defaultCallTimeout}, {&s.Retention, defaultRetention}} {
		if *each.value <= 0 {
			*each.value = each.instead
		}
	}
	return s
}

// Params are what a Service is made of. All are needed but Settings and Now.
type Params struct {
	Store     Store
	Audit     Auditor
	Workflows Workflows
	Catalog   catalog.Catalog
	Policy    func(ctx context.Context) Policy
	Settings  Settings
	Now       func() time.Time
	Log       *slog.Logger
}

// Service is the [Engine] of a gateway. It is safe for concurrent use.
type Service struct {
	store     Store
	workflows Workflows
	catalog   catalog.Catalog
	policy    func(ctx context.Context) Policy
	settings  Settings
	now       func() time.Time
	log       *slog.Logger

	audit   *audit
	intents *intents
	watches *watches
	flights flights

	// writes are calls that go on when their callers have left: what they did is still recorded.
	writes  sync.WaitGroup
	stop    chan struct{}
	stopped sync.Once

	sweeper   sync.WaitGroup
	endSweeps context.CancelFunc
}

var _ Engine = (*Service)(nil)

// New makes a service. Close it when nobody calls it any more.
func New(p Params) *Service {
	if p.Now == nil {
		p.Now = time.Now
	}
	s := &Service{
		store:     p.Store,
		workflows: p.Workflows,
		catalog:   p.Catalog,
		policy:    p.Policy,
		settings:  p.Settings.complete(),
		now:       p.Now,
		log:       p.Log,
		audit:     startAudit(p.Audit, p.Log),
		intents:   startIntents(p.Store),
		watches:   newWatches(p.Store),
		flights:   flights{running: map[string]*flight{}},
		stop:      make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.endSweeps = cancel
	if s.settings.Sweep > 0 {
		s.sweeper.Go(func() { s.sweeps(ctx) })
	}
	return s
}

// Close waits for calls that may not be cut off and for the audit to be written, until the context ends.
func (s *Service) Close(ctx context.Context) error {
	s.stopped.Do(func() { close(s.stop) })
	s.endSweeps()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.writes.Wait()
		s.sweeper.Wait()
	}()
	var late error
	select {
	case <-ended:
	case <-ctx.Done():
		late = errors.New("close executions: tools were still being called")
	}
	s.watches.close()
	s.intents.close()
	return errors.Join(late, s.audit.close(ctx))
}

// hold is how long a caller waits.
type hold struct {
	span    time.Duration // less than nothing: one look
	release <-chan struct{}
}

// oneLook does not wait.
var oneLook = hold{span: -1}

func (s *Service) hold(asked time.Duration, release <-chan struct{}) hold {
	if asked == 0 {
		asked = s.settings.Hold
	}
	return hold{span: min(asked, MaxHold), release: release}
}
