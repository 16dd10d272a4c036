package engine

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/engine"
)

const (
	// rolloverEvents is the history length beyond which the watch goes on as a new run.
	rolloverEvents = 400
	// watchTimeout bounds one watch; the next one starts at once.
	watchTimeout = 24 * time.Hour
	// heartbeat is how soon a watch whose worker was killed is taken over.
	heartbeat = 15 * time.Second
)

// Workflow watches one engine for as long as it has connections.
func Workflow(ctx workflow.Context, in *State) error {
	w := &watch{State: in, changes: workflow.GetSignalChannel(ctx, SignalConnectionsChanged)}
	err := workflow.SetQueryHandlerWithOptions(ctx, QuerySnapshot, func() (Snapshot, error) {
		return Snapshot{EngineID: w.EngineID, WatchingSince: w.WatchingSince, Watches: w.Watches}, nil
	}, workflow.QueryHandlerOptions{Description: "the watch of this engine's events"})
	if err != nil {
		return err
	}
	return w.run(ctx)
}

// watch is a run of the workflow: the state, and what only this run knows.
type watch struct {
	*State

	changes workflow.ReceiveChannel
	changed bool
}

func (w *watch) run(ctx workflow.Context) error {
	for ctx.Err() == nil {
		ended := w.watchOnce(ctx)
		w.drain()
		switch {
		case ctx.Err() != nil:
		case ended && !w.changed:
			return nil
		case rolloverDue(ctx):
			return workflow.NewContinueAsNewError(ctx, WorkflowName, w.State)
		}
		w.changed = false
	}
	return ctx.Err()
}

// watchOnce runs one watch to its end, or until the history is no longer small. It reports whether the engine has no
// connections left.
func (w *watch) watchOnce(ctx workflow.Context) bool {
	w.WatchingSince = workflow.Now(ctx)
	w.Watches++
	watchCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	result := workflow.ExecuteActivity(workflow.WithActivityOptions(watchCtx, workflow.ActivityOptions{
		StartToCloseTimeout: watchTimeout,
		HeartbeatTimeout:    heartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
		Summary: "watch the events of " + w.EngineID,
	}), engine.WatchName, engine.WatchRequest{EngineID: w.EngineID})
	for !result.IsReady() {
		selector := workflow.NewSelector(ctx)
		selector.AddFuture(result, func(workflow.Future) {})
		selector.AddReceive(w.changes, func(workflow.ReceiveChannel, bool) { w.drain() })
		selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) {})
		selector.Select(ctx)
		if ctx.Err() != nil || rolloverDue(ctx) {
			return false
		}
	}
	var res engine.WatchResult
	return result.Get(ctx, &res) == nil
}

// rolloverDue reports whether the history is no longer small.
func rolloverDue(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= rolloverEvents
}

// drain takes every signal that has arrived.
func (w *watch) drain() {
	for w.changes.ReceiveAsync(nil) {
		w.changed = true
	}
}
