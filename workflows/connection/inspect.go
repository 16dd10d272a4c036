package connection

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Words for an entry. The first two are ours, the others the engine's.
const (
	engineUnreachable = "unreachable"
	statusMissing     = "missing"
	statusConnected   = "connected"
	statusDisabled    = "disabled"
	statusFailed      = "failed"
)

const sessionLost = "the endpoint has forgotten its sessions; the engine's is lost too"

// rest waits until something is to be decided: the server retries a look, and whatever is asked meanwhile cancels it.
func (c *connection) rest(ctx workflow.Context) {
	c.scheduleRetry(ctx)
	c.publish(ctx)
	c.served = c.absorbed
	if c.Withdraw {
		c.withdrawWhenIdle(ctx)
		return
	}
	if c.Entry.DesiredRevision == "" || c.Desired == nil {
		c.sleep(ctx)
		return
	}
	restCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	look := c.inspect(restCtx, false)
	var retry workflow.Future
	if c.NextAttemptAt != nil {
		retry = workflow.NewTimerWithOptions(restCtx, c.NextAttemptAt.Sub(workflow.Now(ctx)),
			workflow.TimerOptions{Summary: "next attempt"})
	}
	await(ctx, func() bool {
		return look.IsReady() || (retry != nil && retry.IsReady()) || c.woken()
	})
	switch {
	case c.woken():
	case retry != nil && retry.IsReady():
		c.NextAttemptAt = nil
		c.Intents.Load, c.Intents.Repair = c.LoadFailure != nil, true
	case look.IsReady():
		c.decide(ctx, look)
	}
}

// sleep waits for a change of what is wanted; where it could not be read, only for a while.
func (c *connection) sleep(ctx workflow.Context) {
	if c.LoadFailure == nil {
		await(ctx, c.woken)
		return
	}
	woken, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      loadRetry + backoff(workflow.GetInfo(ctx).WorkflowExecution.ID, c.Attempts),
		TimerOptions: workflow.TimerOptions{Summary: "read again what is wanted"},
	}, c.woken)
	if err == nil && !woken {
		c.Attempts++
		c.Intents.Load = true
	}
}

// await waits until a condition holds. It reports false when the run is canceled instead; the loop then ends.
func await(ctx workflow.Context, condition func() bool) bool {
	return workflow.Await(ctx, condition) == nil
}

// woken reports whether something was asked for since the loop last decided.
func (c *connection) woken() bool { return c.Intents.Any() || c.asked > c.absorbed }

// urgent reports whether something was asked for that is not to wait for a repair under way.
func (c *connection) urgent() bool {
	in := c.Intents
	return in.Load || in.Stale != nil || in.Refresh || in.Remove
}

// scheduleRetry sets the time of the next attempt where only another attempt can tell whether the cause is gone.
func (c *connection) scheduleRetry(ctx workflow.Context) {
	f := c.Entry.Failure
	if c.Entry.State != delivery.Failed || f == nil || !f.Retryable || seenByInspection(f.Code) || c.NextAttemptAt != nil {
		return
	}
	at := workflow.Now(ctx).Add(backoff(workflow.GetInfo(ctx).WorkflowExecution.ID, c.Attempts))
	c.NextAttemptAt = &at
}

// seenByInspection reports whether a look finds out that the cause of a failure is gone, so that no push has to try.
func seenByInspection(code health.Code) bool {
	return code == health.CodeEngineUnreachable || code == health.CodeEndpointUnreachable ||
		code == health.CodeToolsMissing
}

func (c *connection) inspect(ctx workflow.Context, once bool) workflow.Future {
	mode, summary := engine.ModeWatch, "watch "+c.Key.Name
	switch {
	case c.Entry.State == delivery.Pending:
		mode, summary = engine.ModeIdle, "wait until no session uses "+c.Key.Name
	case c.Entry.State == delivery.Failed:
		mode, summary = engine.ModeRecover, "watch for "+c.Key.Name+" to recover"
	case once:
		summary = "look at " + c.Key.Name + " now"
	}
	return workflow.ExecuteActivity(inspectOptions(ctx, summary), engine.InspectName, engine.InspectRequest{
		Key: c.Key, Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation, Mode: mode,
		Proven: c.Entry.Proven(), Degraded: c.Degraded != nil, Failure: c.Entry.Failure, Status: c.EngineStatus, Once: once,
		Token: c.tokenSeen(), EngineID: c.EngineID,
	})
}

// look looks at engine and endpoint once, because somebody asked.
func (c *connection) look(ctx workflow.Context) {
	c.Intents.Look = false
	c.WaitingFor = WaitingEndpoint
	look := c.inspect(ctx, true)
	await(ctx, look.IsReady)
	c.WaitingFor = ""
	before := c.Degraded
	c.decide(ctx, look)
	if before == nil && c.Degraded != nil && c.asked > c.served {
		// Somebody waits for an answer: a first miss is looked at again at once.
		c.Intents.Look = true
	}
}

// decide acts on what a look found.
func (c *connection) decide(ctx workflow.Context, look workflow.Future) {
	var res engine.InspectResult
	if err := look.Get(ctx, &res); err != nil {
		if !temporal.IsCanceledError(err) {
			c.fail(ctx, failureOf(err, health.StageEngineDelivery))
		}
		return
	}
	if res.Decision == engine.DecisionEndpointMissed {
		// One miss says nothing of the tools: those listed last stay.
		res.Tools = nil
	}
	c.saw(ctx, res.Status, res.Tools)
	switch res.Decision {
	case engine.DecisionInSync:
		if c.Entry.State == delivery.Ready {
			c.apply(ctx, delivery.Verified{Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation})
		}
	case engine.DecisionDesiredChanged:
		c.Intents.Load = true
	case engine.DecisionEntryGone:
		c.saw(ctx, statusMissing, nil)
		c.doubt(ctx, 0, "the engine has lost the entry", "")
	case engine.DecisionEntryStatus:
		c.entryStatus(ctx, res)
	case engine.DecisionEntryConnected:
		c.entryConnected(ctx)
	case engine.DecisionEngineDown:
		c.saw(ctx, engineUnreachable, nil)
		c.failWith(ctx, res.Failure)
	case engine.DecisionEngineIdle:
		c.WaitingFor = ""
		c.Intents.Repair = true
	case engine.DecisionEndpointMissed:
		c.missed(ctx, res)
	case engine.DecisionEndpointFailed:
		c.failWith(ctx, res.Failure)
	case engine.DecisionEndpointHealthy:
		c.endpointHealthy(ctx)
	case engine.DecisionSessionForgotten:
		c.sessionForgotten(ctx)
	case engine.DecisionTokenDue:
		c.tokenDue(ctx)
	case engine.DecisionTokenRenewed:
		c.tokenRenewed(ctx)
	}
}

func (c *connection) failWith(ctx workflow.Context, f *health.Failure) {
	if f == nil {
		unknown := health.SyncFailed(true, "the look gave no reason")
		f = &unknown
	}
	c.fail(ctx, *f)
}

func (c *connection) missed(ctx workflow.Context, res engine.InspectResult) {
	if c.Entry.State != delivery.Ready || res.Failure == nil {
		c.failWith(ctx, res.Failure)
		return
	}
	c.Degraded = &Degraded{Since: workflow.Now(ctx), Failure: *res.Failure}
}

// entryStatus acts on an entry that is there and not connected. The engine does not mend it by itself.
func (c *connection) entryStatus(ctx workflow.Context, res engine.InspectResult) {
	now := workflow.Now(ctx)
	if res.Status == statusDisabled {
		if c.DisabledAt != nil && now.Sub(*c.DisabledAt) < disabledAgain {
			c.fail(ctx, health.EngineDisabled())
			return
		}
		c.DisabledAt = &now
		c.doubt(ctx, 0, "somebody disabled the entry in the engine", "")
		return
	}
	c.doubt(ctx, 0, "the engine reports "+res.Status, "")
}

// sessionForgotten delivers again, since the engine does not notice. An endpoint that forgets again and again, as one
// behind a balancer that does not keep sessions together, is delivered to with backoff: each delivery takes the engine's
// client away from it for a moment.
func (c *connection) sessionForgotten(ctx workflow.Context) {
	c.Attempts++
	again := c.Attempts > forgottenInARow
	c.doubt(ctx, 0, sessionLost, "")
	if again {
		c.fail(ctx, health.SessionLost(sessionLost+", again"))
	}
}

// entryConnected acts on a live "connected" that was not there before. It proves a delivery only by a receipt, or by a
// push that answered in this generation.
func (c *connection) entryConnected(ctx workflow.Context) {
	c.saw(ctx, statusConnected, nil)
	revision, generation := c.Entry.DesiredRevision, c.Entry.Generation
	if c.Entry.AwaitsConnected() {
		c.apply(ctx, delivery.Delivered{Revision: revision, Generation: generation})
	}
	if c.Entry.Proven() {
		c.verify(ctx, "connected again; verified")
		return
	}
	c.Intents.Repair = true
}

// endpointHealthy ends a degraded spell, heals a failed connection whose receipt holds, and else delivers.
func (c *connection) endpointHealthy(ctx workflow.Context) {
	c.Degraded = nil
	if c.Entry.State == delivery.Ready {
		return
	}
	out := c.apply(ctx, delivery.Verified{
		Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation, Reason: "the endpoint is well again",
	})
	c.Intents.Repair = out.Ignored != ""
}
