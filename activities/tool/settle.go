package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// lookEvery is the wait between two looks for an answer that may still come.
const lookEvery = 250 * time.Millisecond

// Settle finds out what became of a call whose worker was lost. Its grace begins once, however often it is tried.
func (a *Activities) Settle(ctx context.Context, in SettleRequest) (CallResult, error) {
	until := time.Now().Add(in.Grace)
	if asked := activity.GetInfo(ctx).ScheduledTime; !asked.IsZero() && asked.Add(in.Grace).Before(until) {
		until = asked.Add(in.Grace)
	}
	for {
		found, err := a.Store.Call(ctx, in.Key, in.Number)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return CallResult{State: StateNone}, nil
		case err != nil:
			return CallResult{}, fmt.Errorf("settle call: %w", err)
		case !found.DoneAt.IsZero():
			return done(found), nil
		case !time.Now().Before(until):
			return CallResult{State: StateClaimed}, nil
		}
		select {
		case <-ctx.Done():
			return CallResult{}, ctx.Err()
		case <-time.After(lookEvery):
		}
	}
}
