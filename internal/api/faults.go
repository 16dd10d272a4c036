package api

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// fromStore calls the store, and gives up when it answers nobody any more. What a caller can act on is passed on:
// [store.ErrNotFound], [store.ErrUnknownEngine], a stale intent. Anything else is an *[Error].
//
// The call runs beside: one that hangs in the file system cannot be cut short, and the caller is told in time all the same. A write
// that waits for another process's write ends with its context, and is not written afterwards.
func fromStore[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	answers := make(chan answer, 1)
	a.running.Go(func() {
		defer cancel()
		var got answer
		got.err = protect(func() (err error) {
			got.value, err = call(ctx)
			return err
		})
		answers <- got
	})
	var none T
	look := time.NewTicker(checkEvery)
	defer look.Stop()
	for {
		select {
		case got := <-answers:
			return got.value, storeFault(got.err)
		case <-look.C:
			if down := a.stored.look(ctx); down != nil && len(answers) == 0 {
				cancel()
				return none, fail(CodeStoreUnavailable).because(down)
			}
		case <-ctx.Done():
			select {
			case got := <-answers:
				return got.value, storeFault(got.err)
			case <-time.After(storeGrace):
				return none, fail(CodeStoreUnavailable).because(ctx.Err())
			}
		}
	}
}

func storeFault(err error) error {
	var (
		ours    *Error
		corrupt *store.CorruptRowError
		stale   *store.StaleIntentError
	)
	switch {
	case err == nil, errors.As(err, &ours):
		return err
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrUnknownEngine), errors.As(err, &stale):
		return err
	case errors.As(err, &corrupt):
		return fail(CodeUnreadable).because(err)
	default:
		return fail(CodeStoreUnavailable).because(err)
	}
}

// needTemporal tells at once where Temporal does not answer.
func (a *API) needTemporal(ctx context.Context) error {
	if err := a.temporal.look(ctx); err != nil {
		return fail(CodeTemporalUnavailable).because(err)
	}
	return nil
}

// queryLimit is how long a workflow may take to answer a query: two tries.
const queryLimit = 5 * time.Second

// fromTemporal makes a call that needs Temporal, or a worker behind it. [connection.ErrNotFound] and [connection.ErrBadPage] are
// passed on; anything else is an *[Error].
func fromTemporal[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	var (
		value T
		err   error
	)
	if err := a.needTemporal(ctx); err != nil {
		return value, err
	}
	gone := a.temporal.during(ctx, func(ctx context.Context) { value, err = call(ctx) })
	var ours *Error
	switch {
	case err == nil:
		return value, nil
	case gone:
		return value, fail(CodeTemporalUnavailable).because(err)
	case errors.As(err, &ours):
		return value, ours
	case errors.Is(err, connection.ErrNotFound), errors.Is(err, connection.ErrBadPage):
		return value, err
	case errors.Is(err, connection.ErrNoWorker):
		if down := a.needTemporal(ctx); down != nil {
			return value, down // and so nobody was asked
		}
		return value, fail(CodeNoWorker).because(err)
	case errors.Is(err, connection.ErrBusy):
		return value, fail(CodeBusy).because(err)
	case a.stopped():
		return value, fail(CodeStopping).because(err)
	default:
		return value, fail(CodeTemporalUnavailable).because(err)
	}
}

// query is [fromTemporal] for what a workflow answers at once.
func query[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	return fromTemporal(ctx, a, func(ctx context.Context) (T, error) {
		ctx, cancel := context.WithTimeout(ctx, queryLimit)
		defer cancel()
		return call(ctx)
	})
}

const (
	// askLimit and asks bound what one connection's workflow is asked: that no worker answers is told within 2 s. One that is busy
	// at the first time has the answer at the second.
	askLimit = 900 * time.Millisecond
	asks     = 2
)

// askWorkflow is [fromTemporal] for a query of one workflow, which takes milliseconds where a worker runs.
func askWorkflow[T any](ctx context.Context, a *API, call func(context.Context) (T, error)) (T, error) {
	return fromTemporal(ctx, a, func(ctx context.Context) (value T, err error) {
		for range asks {
			try, cancel := context.WithTimeout(ctx, askLimit)
			value, err = call(try)
			cancel()
			if !errors.Is(err, connection.ErrNoWorker) {
				break
			}
		}
		return value, err
	})
}

// signal is [fromTemporal] for what is only told.
func signal(ctx context.Context, a *API, call func(context.Context) error) error {
	_, err := query(ctx, a, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	return err
}

// asError turns what a handler returned into an answer.
func asError(err error) *Error {
	var ours *Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, connection.ErrNotFound):
		return fail(CodeConnectionNotFound).because(err)
	case errors.Is(err, connection.ErrBadPage):
		return failf(CodeInvalidPayload, "There is no such page: start again without pageToken, with a pageSize of 1 to 100.").because(err)
	case errors.Is(err, store.ErrUnknownEngine):
		return failf(CodeInvalidPayload, "The engine is not known here: holdfast connection apply makes one known.").because(err)
	default:
		return fail(CodeInternal).because(err)
	}
}
