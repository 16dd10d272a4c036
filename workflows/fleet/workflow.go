package fleet

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/fleet"
)

const (
	// rolloverEvents is the history length beyond which the workflow goes on as a new run.
	rolloverEvents = 400
	// passTimeout bounds one pass.
	passTimeout = 30 * time.Minute
	// heartbeat is how soon a pass whose worker was killed is taken over.
	heartbeat = 15 * time.Second
	// between two passes that changed something: what the first one did has to show in lists.
	between = 5 * time.Second
)

// passAttempts is how often the server tries a pass; 0 has no bound.
var passAttempts int32

// Workflow keeps what runs equal to what is wanted, for ever.
func Workflow(ctx workflow.Context, in *State) error {
	f := &keeper{State: in, asks: workflow.GetSignalChannel(ctx, SignalReconcileNow)}
	err := workflow.SetQueryHandlerWithOptions(ctx, QuerySnapshot, func() (Snapshot, error) {
		return Snapshot{Passes: f.Passes, Started: f.Started, Closed: f.Closed, Engines: f.Engines, Last: f.Last}, nil
	}, workflow.QueryHandlerOptions{Description: "what the passes have done"})
	if err != nil {
		return err
	}
	return f.run(ctx)
}

// keeper is a run of the workflow: the state, and what only this run knows.
type keeper struct {
	*State

	asks workflow.ReceiveChannel
}

func (f *keeper) run(ctx workflow.Context) error {
	for ctx.Err() == nil {
		f.drain()
		if f.pass(ctx) && ctx.Err() == nil {
			f.rest(ctx)
		}
		f.drain()
		if ctx.Err() == nil && rolloverDue(ctx) {
			return workflow.NewContinueAsNewError(ctx, WorkflowName, f.State)
		}
	}
	return ctx.Err()
}

// pass waits for a pass that changes something, or makes one that was asked for. It is cut short when one is asked for
// meanwhile, and when the history is no longer small; then it reports false.
func (f *keeper) pass(ctx workflow.Context) (over bool) {
	passCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	asked := f.Asked
	f.Asked = false // what is asked for from here on is for the next pass
	summary := "start what is missing, end what is not wanted"
	if asked {
		summary += " (asked for)"
	}
	result := workflow.ExecuteActivity(workflow.WithActivityOptions(passCtx, workflow.ActivityOptions{
		StartToCloseTimeout: passTimeout,
		HeartbeatTimeout:    heartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute, MaximumAttempts: passAttempts,
		},
		Summary: summary,
	}), fleet.ReconcileName, fleet.ReconcileRequest{Report: asked})
	for !result.IsReady() {
		f.wait(ctx, result)
		// A pass that was asked for is finished first.
		if ctx.Err() != nil || (!result.IsReady() && (rolloverDue(ctx) || (f.Asked && !asked))) {
			f.Asked = f.Asked || asked
			return false
		}
	}
	var got fleet.ReconcileResult
	if err := result.Get(ctx, &got); err == nil {
		f.record(ctx, got)
	}
	return true
}

func (f *keeper) record(ctx workflow.Context, got fleet.ReconcileResult) {
	f.Passes++
	f.Started += got.Started
	f.Closed += got.Closed
	f.Engines += got.Engines
	f.Last = &Pass{At: workflow.Now(ctx), Result: got}
}

// rest waits a moment after a pass, unless one is asked for.
func (f *keeper) rest(ctx workflow.Context) {
	restCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	over := workflow.NewTimerWithOptions(restCtx, between, workflow.TimerOptions{Summary: "before the next pass"})
	f.wait(ctx, over)
}

// wait returns when the future is ready, a pass is asked for, or the workflow is canceled.
func (f *keeper) wait(ctx workflow.Context, future workflow.Future) {
	selector := workflow.NewSelector(ctx)
	selector.AddFuture(future, func(workflow.Future) {})
	selector.AddReceive(f.asks, func(workflow.ReceiveChannel, bool) { f.drain() })
	selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
	selector.Select(ctx)
}

// rolloverDue reports whether the history is no longer small.
func rolloverDue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= rolloverEvents
}

// drain takes every signal that has arrived.
func (f *keeper) drain() {
	for f.asks.ReceiveAsync(nil) {
		f.Asked = true
	}
}
