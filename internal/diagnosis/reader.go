package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// Store knows the engines.
type Store interface {
	Engine(ctx context.Context, id string) (store.Engine, error)
}

// Resolver reads what is wanted; [desired.Resolver] has it.
type Resolver interface {
	Resolve(ctx context.Context, key delivery.Key) (desired.Resolved, error)
}

// Connections asks the workflows; [connection.Client] has it.
type Connections interface {
	Health(ctx context.Context, key delivery.Key) (connection.Health, error)
	Describe(ctx context.Context, key delivery.Key) (connection.Description, error)
	Wake(ctx context.Context, key delivery.Key) error
}

// Params are what a [Reader] is made of.
type Params struct {
	Store       Store
	Resolver    Resolver
	Connections Connections
	// EngineTimeout bounds each call of the engine; 0 means 5 s.
	EngineTimeout time.Duration
	// EndpointTimeout bounds each request of a probe; 0 means 5 s.
	EndpointTimeout time.Duration
	Build           buildinfo.Build
}

// Reader reads health documents. It is safe for concurrent use.
type Reader struct {
	p       Params
	engines *engines
	flights singleflight.Group

	mu    sync.Mutex
	woken map[delivery.Key]time.Time
}

// NewReader makes a reader; [Reader.Close] drops its idle connections.
func NewReader(p Params) *Reader {
	return &Reader{p: p, engines: newEngines(p.Store, p.EngineTimeout), woken: map[delivery.Key]time.Time{}}
}

// Close drops idle connections. Reads under way go on.
func (r *Reader) Close() { r.engines.close() }

// Options say how far a read goes.
type Options struct {
	// Probe asks the endpoint itself, in a session of its own, whatever the engine says of its entry; not where the config
	// breaks a rule, nor where the engine cannot list its tool ids. Callers who ask at the same time share one.
	Probe bool
	// Provider and Model name a model; the projection is read only with both.
	Provider string
	Model    string
}

// ErrHalfAModel means that only one of provider and model is given.
var ErrHalfAModel = errors.New("give both the provider and the model, or neither")

// Read reads the document. What is wrong with the connection is in the document; an error means that it cannot be told:
// store or Temporal do not answer, or the caller gave up. It takes at most three engine timeouts, and with a probe
// [mcpprobe.Bound] more.
func (r *Reader) Read(ctx context.Context, key delivery.Key, o Options) (Document, error) {
	if (o.Provider == "") != (o.Model == "") {
		return Document{}, ErrHalfAModel
	}
	started := time.Now()
	f := facts{key: key, options: o}
	if err := r.readWanted(ctx, &f); err != nil {
		return Document{}, err
	}
	if err := r.readRest(ctx, &f); err != nil {
		return Document{}, err
	}
	document := f.document(r.p.Build)
	document.CheckedAt = started.UTC()
	if f.disagrees() {
		r.wake(ctx, key)
	}
	document.DurationMillis = time.Since(started).Milliseconds()
	return document, nil
}

// readWanted reads what is wanted and where it is to be, or what forbids to look further.
func (r *Reader) readWanted(ctx context.Context, f *facts) error {
	want, err := r.p.Resolver.Resolve(ctx, f.key)
	switch {
	case errors.Is(err, desired.ErrNothingWanted):
		missing := health.DesiredMissing()
		f.noDesired = &missing
		return nil
	case err != nil:
		unreadable, told := apperr.FailureOf(err)
		if !told || unreadable.Retryable {
			return fmt.Errorf("read what is wanted: %w", err)
		}
		f.noDesired = &unreadable
		return nil
	}
	f.want, f.expected = &want, domain.ExpectedTools(want.Profile, want.Metadata)
	if want.Failure != nil {
		f.invalid = want.Failure
		return nil
	}
	f.engine, f.noEngine, err = r.engines.of(ctx, want.EngineID)
	return err
}

// readRest asks the workflow and the engine side by side.
func (r *Reader) readRest(ctx context.Context, f *facts) error {
	var (
		both      sync.WaitGroup
		ledgerErr error
		liveErr   error
	)
	both.Go(func() { f.ledger, ledgerErr = r.readLedger(ctx, f.key) })
	if f.engine != nil {
		both.Go(func() { f.live, liveErr = r.look(ctx, f) })
	}
	both.Wait()
	if err := errors.Join(ledgerErr, liveErr); err != nil {
		return err
	}
	if f.engine != nil {
		f.judgeDenies(ctx)
	}
	return ctx.Err()
}

const (
	// wakePause keeps a reader that is asked all the time from having the endpoint asked all the time.
	wakePause  = 5 * time.Second
	wakeLimit  = 2 * time.Second
	wokenLimit = 4096
)

// wake tells the workflow to look for itself. That nobody could be told is no fault of the read.
func (r *Reader) wake(ctx context.Context, key delivery.Key) {
	r.mu.Lock()
	now := time.Now()
	if last, ok := r.woken[key]; ok && now.Sub(last) < wakePause {
		r.mu.Unlock()
		return
	}
	if len(r.woken) >= wokenLimit {
		clear(r.woken)
	}
	r.woken[key] = now
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, wakeLimit)
	defer cancel()
	_ = r.p.Connections.Wake(ctx, key)
}
