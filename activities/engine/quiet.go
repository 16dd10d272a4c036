package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

const (
	// quietPoll is between two reads of the sessions while a push waits for them to rest. A read sees a session within a
	// millisecond of the engine's own event, and an event stream would be blind for the first 100 ms of a short wait.
	quietPoll = 5 * time.Millisecond
	// settled is how long no session must have used the client for a push that may wait. Who works with the engine turn
	// after turn leaves gaps that are shorter: the moment right after a turn is the one that is farthest from the next.
	settled = time.Second
	// settlePoll is between two reads in that time: no turn is shorter.
	settlePoll = 25 * time.Millisecond
	// quietWaitMax bounds what a request may ask for: that often an engine is read only for a moment.
	quietWaitMax = 10 * time.Second
	// restPoll is between two reads while an inspection waits for sessions to rest: a turn may take an hour.
	restPoll = 100 * time.Millisecond
	// defaultRestSpan is how long one try of an inspection waits for that.
	defaultRestSpan = 10 * time.Second
	// restWaits is how many inspections wait so at the same time, each in a slot of the worker; further ones poll slowly.
	restWaits = 16
)

// awaitQuiet reads the sessions until none uses the clients of the directory, and reports whether that came about before
// the given time and before the worker stops. It reads at least once.
func awaitQuiet(
	ctx context.Context, engine *engineapi.Client, want desired.Resolved, every time.Duration, until time.Time,
) (bool, error) {
	for {
		busy, err := inUse(ctx, engine, want)
		if err != nil || !busy {
			return err == nil, err
		}
		if goOn, err := pauseUntil(ctx, every, until); err != nil || !goOn {
			return false, err
		}
	}
}

// awaitSettled waits for a turn to end, or until none has been seen for so long that none is to be expected.
func (r *registration) awaitSettled(ctx context.Context, until time.Time) (bool, error) {
	rested := time.Now().Add(settled)
	if until.Before(rested) {
		rested = until
	}
	for {
		busy, err := inUse(ctx, r.engine, r.want)
		if err != nil {
			return false, err
		}
		if busy {
			if goOn, err := pauseUntil(ctx, quietPoll, until); err != nil || !goOn {
				return false, err
			}
			return awaitQuiet(ctx, r.engine, r.want, quietPoll, until)
		}
		if goOn, err := pauseUntil(ctx, settlePoll, rested); err != nil || !goOn {
			return err == nil, err
		}
	}
}

// pauseUntil waits for a moment, and reports false when the given time has come or the worker stops.
func pauseUntil(ctx context.Context, d time.Duration, until time.Time) (bool, error) {
	left := time.Until(until)
	if left <= 0 {
		return false, ctx.Err()
	}
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-activity.GetWorkerStopChannel(ctx):
		return false, nil
	case <-timer.C:
		return true, nil
	}
}

// replace pushes over a live client, at a moment when no session uses it: its calls under way would fail, and with them
// those of every turn that has bound its tools. What takes time comes before the last read of the sessions, so that
// nothing but the push itself lies between that read and the exchange of the clients. A prompt that reaches the engine in
// between is not waited for: its turn fails only if it binds its tools before the engine has connected the new client.
func (r *registration) replace(ctx context.Context, before engineapi.Status) (RegisterResult, error) {
	wait := min(time.Duration(r.in.QuietWaitMillis)*time.Millisecond, quietWaitMax)
	until := time.Now().Add(wait)
	if quiet, err := r.quiet(ctx, until, r.awaitSettled); err != nil {
		return RegisterResult{}, r.failed(ctx, err, engineFailure)
	} else if !quiet {
		return r.done(RegisterEngineBusy, before, nil), nil
	}
	if err := r.note(ctx, time.Until(until)); err != nil {
		return RegisterResult{}, err
	}
	if quiet, err := r.quiet(ctx, until, r.awaitRest); err != nil || !quiet {
		return r.unmade(ctx, before, err)
	}
	if err := r.send(ctx); err != nil {
		return RegisterResult{}, r.failed(ctx, err, pushFailure)
	}
	return r.settle(ctx)
}

// awaitRest waits for the turn that began in the meantime, if any.
func (r *registration) awaitRest(ctx context.Context, until time.Time) (bool, error) {
	return awaitQuiet(ctx, r.engine, r.want, quietPoll, until)
}

// quiet waits as it is told to; a forced push does not.
func (r *registration) quiet(
	ctx context.Context, until time.Time, wait func(context.Context, time.Time) (bool, error),
) (bool, error) {
	if r.in.Force {
		return true, nil
	}
	return wait(ctx, until)
}

// unmade ends a push that was noted and never sent, so that nobody waits for its end.
func (r *registration) unmade(ctx context.Context, before engineapi.Status, err error) (RegisterResult, error) {
	if finishErr := r.finish(context.WithoutCancel(ctx)); finishErr != nil {
		return RegisterResult{}, errors.Join(err, finishErr)
	}
	if err != nil {
		return RegisterResult{}, r.failed(ctx, err, engineFailure)
	}
	return r.done(RegisterEngineBusy, before, nil), nil
}

// finish notes that nothing of the push is under way any more.
func (r *registration) finish(ctx context.Context) error {
	if err := r.store.FinishPush(ctx, r.in.Key, r.now()); err != nil {
		return fmt.Errorf("note the end of the push: %w", err)
	}
	return nil
}

// rested waits within one try, and no longer than told, until no session uses the client. Where too many wait so already,
// and for somebody who waits for the answer, it only looks once.
func (l *look) rested(ctx context.Context, most time.Duration) (bool, error) {
	var span time.Duration
	if !l.in.Once {
		select {
		case l.restSlots <- struct{}{}:
			defer func() { <-l.restSlots }()
			span = min(l.settings.RestSpan, most)
		default:
		}
	}
	return awaitQuiet(ctx, l.engine, l.want, restPoll, time.Now().Add(span))
}
