package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// pushSpan is how many timeouts a push may take in the engine: two transports to connect, and the list of tools.
	pushSpan = 3
	// pushMargin is what we wait beyond that for the answer to arrive.
	pushMargin = 5 * time.Second
	// unreachableTries is how often an engine that does not answer is tried before the failure is shown.
	unreachableTries = 2
)

// statusReads are the waits before each status read after a push.
var statusReads = []time.Duration{
	0, 250 * time.Millisecond, 750 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second,
}

// RegisterServer delivers the desired config to the engine and waits until the engine says connected. It never replaces a
// client that a session uses unless it is forced to, never pushes what is proven, and never pushes while an earlier push
// may still end.
func (a *Activities) RegisterServer(ctx context.Context, in RegisterRequest) (RegisterResult, error) {
	want, same, err := a.resolver.Is(ctx, in.Key, in.Revision)
	if err != nil {
		return RegisterResult{}, err
	}
	if !same || moved(in.EngineID, want) {
		return RegisterResult{Outcome: RegisterDesiredChanged}, nil
	}
	if want.Failure != nil {
		return RegisterResult{}, apperr.Failed(*want.Failure, nil)
	}
	if want.Token != nil && want.Token.Sequence == 0 {
		return RegisterResult{Outcome: RegisterTokenMissing}, nil
	}
	client, err := a.clients.of(ctx, want.EngineID)
	if err != nil {
		return RegisterResult{}, err
	}
	if err := a.waitOutAbandoned(ctx, in); err != nil {
		return RegisterResult{}, err
	}
	r := registration{Activities: a, in: in, want: want, engine: client, began: a.now()}
	return r.run(ctx)
}

// waitOutAbandoned asks to be tried again when the push that somebody else began can have no effect any more: until
// then its late failure would close whatever is connected.
func (a *Activities) waitOutAbandoned(ctx context.Context, in RegisterRequest) error {
	push, err := a.store.LastPush(ctx, in.Key)
	if err != nil {
		return fmt.Errorf("read last push: %w", err)
	}
	if now := a.now(); push.InFlight(now) {
		return waitOut(push.Deadline.Sub(now))
	}
	return nil
}

func waitOut(left time.Duration) error {
	return apperr.NotDue("waiting: an earlier push may still end in the engine", max(left, minimumWait))
}

// registration is one try.
type registration struct {
	*Activities

	in     RegisterRequest
	want   desired.Resolved
	engine *engineapi.Client
	began  time.Time
}

func (r *registration) run(ctx context.Context) (RegisterResult, error) {
	before, configured, err := r.look(ctx)
	if err != nil {
		return RegisterResult{}, r.failed(ctx, err, engineFailure)
	}
	if configured {
		return RegisterResult{}, apperr.Failed(health.ConfigConflict(r.in.Key.Name), nil)
	}
	if before.Status == engineapi.StatusConnected {
		if r.in.Proven {
			return r.done(RegisterAlreadyProven, before, nil), nil
		}
		return r.replace(ctx, before)
	}
	if err := r.note(ctx, 0); err != nil {
		return RegisterResult{}, err
	}
	if err := r.send(ctx); err != nil {
		return RegisterResult{}, r.failed(ctx, err, pushFailure)
	}
	return r.settle(ctx)
}

// look reads the entry and whether the engine's own configuration defines it, side by side. Where both fail, the entry's
// failure is the one that counts.
func (r *registration) look(ctx context.Context) (engineapi.Status, bool, error) {
	var (
		entry      engineapi.Status
		configured bool
		group      errgroup.Group
		entryErr   error
		configErr  error
	)
	group.Go(func() error {
		entry, entryErr = entryOf(ctx, r.engine, r.want)
		return nil
	})
	group.Go(func() error {
		configured, configErr = inConfiguration(ctx, r.engine, r.want)
		return nil
	})
	_ = group.Wait() // neither cancels the other: both errors are kept apart
	if entryErr != nil {
		return engineapi.Status{}, false, entryErr
	}
	return entry, configured, configErr
}

// note writes down that a push begins, before it can have an effect. It is sent no later than wait from now.
func (r *registration) note(ctx context.Context, wait time.Duration) error {
	at := r.now()
	err := r.store.BeginPush(ctx, r.in.Key, store.Push{
		Generation: r.in.Generation, Revision: r.in.Revision, StartedAt: at,
		Deadline: at.Add(max(wait, 0) + r.span()),
	})
	var other *store.PushInFlightError
	if errors.As(err, &other) {
		return waitOut(other.Until.Sub(r.now()))
	}
	if err != nil {
		return fmt.Errorf("note the push: %w", err)
	}
	return nil
}

// span is how long a push may have effects from when it is sent.
func (r *registration) span() time.Duration {
	return pushSpan*desired.PushTimeout(r.want.Config) + pushMargin
}

// send sends the config once. Its end is noted only when it is known to have no effect any more.
func (r *registration) send(ctx context.Context) error {
	_, err := r.engine.Register(ctx, r.in.Key.Directory, r.in.Key.Name, r.want.Config.EngineConfig(), r.span())
	if err == nil || neverSent(err) || refused(err) {
		return errors.Join(err, r.finish(ctx))
	}
	return err
}

// settle reads the status until it says how the push ended. The push's own answer is no proof.
func (r *registration) settle(ctx context.Context) (RegisterResult, error) {
	var (
		entry engineapi.Status
		err   error
	)
	for _, wait := range statusReads {
		if err := sleep(ctx, wait); err != nil {
			return RegisterResult{}, err
		}
		entry, err = entryOf(ctx, r.engine, r.want)
		if err != nil {
			continue
		}
		switch entry.Status {
		case engineapi.StatusConnected:
			return r.done(RegisterDelivered, entry, nil), nil
		case engineapi.StatusFailed, engineapi.StatusDisabled, engineapi.StatusNeedsAuth,
			engineapi.StatusNeedsClientRegistration:
			return r.done(RegisterRejected, entry, entryFailure(entry)), nil
		}
	}
	if err != nil {
		return RegisterResult{}, r.failed(ctx, err, engineFailure)
	}
	return r.done(RegisterRejected, entry, entryFailure(entry)), nil
}

func (r *registration) done(outcome RegisterOutcome, entry engineapi.Status, f *health.Failure) RegisterResult {
	res := RegisterResult{
		Outcome: outcome, Status: entry.Status, Failure: f, LatencyMillis: r.now().Sub(r.began).Milliseconds(),
	}
	if r.want.Token != nil {
		res.Token, res.TokenExpiresAt = r.want.Token.Sequence, r.want.Token.ExpiresAt
	}
	return res
}

// failed reports trouble with the engine. What may pass is tried once more by the server; then the failure is shown and
// the inspection watches for the engine to come back.
func (r *registration) failed(ctx context.Context, err error, classify func(error) health.Failure) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var fault *httpclient.Error
	if !errors.As(err, &fault) {
		return err
	}
	f := classify(err)
	if activity.GetInfo(ctx).Attempt >= unreachableTries {
		return apperr.FailedFinally(f, err)
	}
	return apperr.Failed(f, err)
}

// sleep waits, or returns early with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
