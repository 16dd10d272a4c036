package connection

import (
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

// rolloverDue reports whether the run is at rest with a history that is no longer small.
func (c *connection) rolloverDue(ctx workflow.Context) bool {
	if !c.settled() {
		return false
	}
	limit := c.RolloverEvents
	if limit == 0 {
		limit = rolloverEvents
	}
	info := workflow.GetInfo(ctx)
	return c.Intents.Rollover || info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= limit
}

// rollover hands the state to a new run. In this order: admit nothing more, let every handler answer, take the signals
// that have arrived; and between that and the return nothing blocks, so that nothing is lost.
func (c *connection) rollover(ctx workflow.Context) error {
	c.rolling = true
	c.Intents.Rollover = false
	c.served = c.asked
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.drain(ctx)
	return workflow.NewContinueAsNewError(ctx, WorkflowName, c.State)
}

// remove disconnects the entry and ends the workflow.
func (c *connection) remove(ctx workflow.Context) error {
	if c.Entry.State != delivery.NotDesired || c.Withdraw {
		c.disconnect(ctx, "removed", false)
	}
	c.Withdraw = false
	c.apply(ctx, delivery.Unwanted{Reason: "removed"})
	c.Desired, c.Tools, c.Degraded, c.WaitingFor = nil, nil, nil, ""
	c.publish(ctx)
	c.removed = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.drain(ctx)
	if c.Intents.Load {
		// It was wanted again while it was being removed: go on rather than end.
		c.Intents = Intents{Load: true, Trigger: c.Intents.Trigger}
		return workflow.NewContinueAsNewError(ctx, WorkflowName, c.State)
	}
	return nil
}

// drain takes every signal that has arrived, without blocking.
func (c *connection) drain(ctx workflow.Context) {
	drain(ctx, SignalMarkStale, c.onMarkStale)
	drain(ctx, SignalDesiredChanged, c.onDesiredChanged)
	drain(ctx, SignalEngineEvent, c.onEngineEvent)
	drain(ctx, SignalForceContinueAsNew, c.onForceContinueAsNew)
}

func drain[T any](ctx workflow.Context, name string, take func(T)) {
	channel := workflow.GetSignalChannel(ctx, name)
	for {
		var in T
		if !channel.ReceiveAsync(&in) {
			return
		}
		take(in)
	}
}
