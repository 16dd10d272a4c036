package execution

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// callHeartbeat is how soon a call whose worker was killed is noticed.
	callHeartbeat = 10 * time.Second
	// callMargin is for the steps before and after the call itself: claiming it, and storing its result while the store is slow.
	callMargin = 2 * time.Minute
	// defaultTimeout and defaultWindow are of inputs that name none.
	defaultTimeout = 5 * time.Minute
	defaultWindow  = 4 * time.Minute
	// unsentFor is how long a call is tried that does not reach the upstream.
	unsentFor = 2 * time.Minute
	// lostTries is how often a call is made again after its worker was lost.
	lostTries = 5
	// lateAnswer is how long the answer of a call is waited for that seems lost and may not be made again.
	lateAnswer  = 10 * time.Second
	mostBackoff = 15 * time.Second
)

// callOptions: one attempt only; what comes after it is decided by what the store knows of the call. The time that a person takes for
// what the tool asks is the activity's to count: here there is room for all of it.
func callOptions(ctx workflow.Context, in Input, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: in.CallTimeout + callMargin + asksAtMost*(in.Window+callMargin),
		HeartbeatTimeout:    callHeartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:             summary,
	})
}

// recordLocally: a write of some rows takes milliseconds, and a decision waits for it.
func recordLocally(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    3 * time.Second,
		ScheduleToCloseTimeout: 4 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 3},
		Summary:                summary,
	})
}

// recordAttempts is 0, no limit. Only the tests set it: the SDK's test environment takes 0 for ten.
var recordAttempts int32

// storeOptions: the server retries for as long as the store cannot be reached.
func storeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second,
			MaximumAttempts: recordAttempts,
		},
		Summary: summary,
	})
}

// backoff is the wait after try n (from 1): 1 s doubling up to 15 s.
func backoff(n int) time.Duration {
	if n > 4 {
		return mostBackoff
	}
	return min(mostBackoff, time.Second<<(n-1))
}
