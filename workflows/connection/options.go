package connection

import (
	"hash/fnv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
)

const (
	secondsOfPush = 3
	pushMargin    = 10 * time.Second
	mintHeartbeat = 10 * time.Second
	// repairPause is the least time between two repairs that a look asks for by itself.
	repairPause = 30 * time.Second
	// quietWait is how long a push waits for the moment at which no session uses the client, before it is put off.
	quietWait = 5 * time.Second
	// healthyReset is how long a connection must be ready for its failures to be forgotten.
	healthyReset = 10 * time.Minute
	// disabledAgain is how soon a second foreign "disabled" is taken as somebody's will.
	disabledAgain = 10 * time.Minute
	maxBackoff    = 15 * time.Minute
	loadRetry     = 5 * time.Second
	// forgottenInARow is how often an endpoint may forget its sessions, with less than healthyReset between, before
	// deliveries back off.
	forgottenInARow = 3
	// agreeWithin is how many times in a row a config may turn out to have changed before the attempt is given up.
	agreeWithin = 3
)

// loadOptions: a read of one row. Local, because it takes a millisecond and happens before anything else.
func loadOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    5 * time.Second,
		ScheduleToCloseTimeout: 7 * time.Second,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 3},
		Summary:                summary,
	})
}

// registerOptions: a push may take twice its timeout in the engine, once more for the list of tools, and what a killed
// worker left behind is waited out. Four tries leave room for a lost worker, the wait and two real tries.
func registerOptions(ctx workflow.Context, timeout time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: secondsOfPush*timeout + pushMargin + quietWait,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 750 * time.Millisecond, BackoffCoefficient: 2,
			MaximumInterval: 5 * time.Second, MaximumAttempts: 4,
		},
		Summary: summary,
	})
}

// probeOptions: the probe bounds itself well below this; a second try is for a lost worker.
func probeOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 45 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 3},
		Summary:             summary,
	})
}

// inspectAttempts is 0, no limit. Only the tests set it: the SDK's test environment takes 0 for ten.
var inspectAttempts int32

// inspectOptions: no total limit and no limit of tries. The server retries the look for as long as nothing is to be
// decided; each try asks for its own delay.
func inspectOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 40 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			MaximumAttempts: inspectAttempts,
		},
		Summary: summary,
	})
}

// mintOptions: a second try is for a lost worker, which is noticed by its heartbeats. What the token server says is for the
// workflow to wait for.
func mintOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: endpoint.MintTimeout,
		HeartbeatTimeout:    mintHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 2},
		Summary:             summary,
	})
}

// withdrawOptions: the server retries for as long as a session uses the client or the engine does not answer.
func withdrawOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 15 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			MaximumAttempts: inspectAttempts,
		},
		Summary: summary,
	})
}

func disconnectOptions(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 15 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 2},
		Summary:             summary,
	})
}

// backoff is the wait before attempt n (from 1): 1 s doubling up to 15 min, spread by ± 20 % so that connections which
// failed together do not come back together. The spread is a hash, which replays.
func backoff(workflowID string, n int) time.Duration {
	wait := maxBackoff
	if n < 1 {
		n = 1
	}
	if n <= 20 {
		wait = min(maxBackoff, time.Second<<(n-1))
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(workflowID))
	_, _ = h.Write([]byte{byte(n), byte(n >> 8)})
	spread := time.Duration(int64(h.Sum32()%401)-200) * wait / 1000
	return wait + spread
}
