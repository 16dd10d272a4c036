package connection

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// repair delivers the desired revision and verifies it at the endpoint. It leaves the connection ready, failed, or
// pending where the engine is busy or something else is wanted by now.
func (c *connection) repair(ctx workflow.Context) {
	c.Intents.Repair, c.Intents.Look = false, false
	revision := c.Entry.DesiredRevision
	proven := c.Entry.Proven()
	c.Withdraw = false
	if c.apply(ctx, delivery.Started{Revision: revision}).Ignored != "" {
		return
	}
	c.NextAttemptAt, c.WaitingFor = nil, WaitingPush
	c.publish(ctx)
	if !c.mintForRepair(ctx) {
		return
	}
	res, err := c.push(ctx, proven && c.tokenProven())
	if temporal.IsCanceledError(err) {
		return
	}
	c.WaitingFor = ""
	if err != nil {
		f := failureOf(err, health.StageEngineDelivery)
		if f.Code == health.CodeEngineUnreachable {
			c.saw(ctx, engineUnreachable, nil)
		}
		c.fail(ctx, f)
		return
	}
	switch res.Outcome {
	case engine.RegisterDesiredChanged:
		c.desiredChanged(ctx)
	case engine.RegisterTokenMissing:
		c.tokenGone(ctx)
	case engine.RegisterEngineBusy:
		c.apply(ctx, delivery.Deferred{Revision: revision, Reason: "a session uses the client"})
		c.WaitingFor = WaitingEngineIdle
	case engine.RegisterRejected:
		c.pushed(ctx, res)
		c.rejected(ctx, res)
	case engine.RegisterDelivered:
		c.pushed(ctx, res)
		c.apply(ctx, delivery.Delivered{Revision: revision, Generation: c.Entry.Generation})
		c.verify(ctx, "delivered and verified")
	case engine.RegisterAlreadyProven:
		c.saw(ctx, res.Status, nil)
		c.verify(ctx, "delivered before; verified")
	}
}

func (c *connection) push(ctx workflow.Context, proven bool) (engine.RegisterResult, error) {
	var res engine.RegisterResult
	timeout := time.Duration(c.Desired.TimeoutMillis) * time.Millisecond
	err := workflow.ExecuteActivity(registerOptions(ctx, timeout, "register "+c.Key.Name+" with the engine"),
		engine.RegisterName, engine.RegisterRequest{
			Key: c.Key, Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation, EngineID: c.EngineID, Proven: proven,
			QuietWaitMillis: int(quietWait.Milliseconds()), Force: c.tokenExpires(workflow.Now(ctx)),
		}).Get(ctx, &res)
	return res, err
}

func (c *connection) pushed(ctx workflow.Context, res engine.RegisterResult) {
	c.saw(ctx, res.Status, nil)
	c.tokenDelivered(res)
	c.apply(ctx, delivery.Pushed{Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation})
}

// rejected finds out why a push failed. The engine's text is that of its second attempt, over another transport, so the
// endpoint itself is asked; the text counts only when the endpoint cannot be reached from here.
func (c *connection) rejected(ctx workflow.Context, res engine.RegisterResult) {
	said := health.SyncFailed(true, "the engine reports "+res.Status)
	if res.Failure != nil {
		said = *res.Failure
	}
	if res.Status != statusFailed {
		// Absent, disabled, needs_auth and the like are the engine's own words, not a guess from a text.
		c.fail(ctx, said)
		return
	}
	probe, err := c.probe(ctx)
	switch {
	case temporal.IsCanceledError(err):
	case err != nil:
		c.fail(ctx, said)
	case probe.DesiredChanged:
		c.desiredChanged(ctx)
	case probe.Unreachable && said.Code != health.CodeSyncFailed:
		c.fail(ctx, said)
	case probe.Failure != nil:
		c.fail(ctx, asLedgerFailure(probe))
	default:
		c.fail(ctx, health.SyncFailed(true, said.Cause()))
	}
}

// verify asks the endpoint whether the expected tools are there. Only this makes a connection ready.
func (c *connection) verify(ctx workflow.Context, reason string) {
	probe, err := c.probe(ctx)
	switch {
	case temporal.IsCanceledError(err):
	case err != nil:
		c.fail(ctx, failureOf(err, health.StageToolRegistration))
	case probe.DesiredChanged:
		c.desiredChanged(ctx)
	case probe.Failure != nil:
		c.fail(ctx, asLedgerFailure(probe))
	case probe.SessionLost:
		// What was delivered before the loss is of no use any more, whatever the engine says.
		c.doubt(ctx, 0, sessionLost, "")
	default:
		c.Degraded, c.disagreements = nil, 0
		c.apply(ctx, delivery.Verified{
			Revision: c.Entry.DesiredRevision, Generation: c.Entry.Generation, Reason: reason,
		})
	}
}

// asLedgerFailure turns an unreachable endpoint, which is no failure of a single read, into the failure it is here.
func asLedgerFailure(probe endpoint.ProbeResult) health.Failure {
	if !probe.Unreachable {
		return *probe.Failure
	}
	return health.EndpointUnreachable(probe.Failure.Cause(), probe.Failure.Details["causes"])
}

// desiredChanged reads again what is wanted. Where reading does not end it, the workers do not agree on the revision of
// one and the same config: their MAC keysets differ.
func (c *connection) desiredChanged(ctx workflow.Context) {
	c.disagreements++
	if c.disagreements > agreeWithin {
		c.disagreements = 0
		c.fail(ctx, health.SyncFailed(true,
			"workers disagree on the revision of this config; give all of them the same keysets"))
		return
	}
	c.Intents.Load = true
	c.apply(ctx, delivery.Deferred{Revision: c.Entry.DesiredRevision, Reason: "something else is wanted by now"})
}

// tokenGone has another token minted, since the one for this attempt was dropped or expired before it could be pushed.
func (c *connection) tokenGone(ctx workflow.Context) {
	c.disagreements++
	if c.disagreements > agreeWithin {
		c.disagreements = 0
		c.fail(ctx, health.TokenSourceUnreachable("tokens are dropped or expire before they can be delivered"))
		return
	}
	c.apply(ctx, delivery.Deferred{Revision: c.Entry.DesiredRevision, Reason: "the token was dropped meanwhile"})
}

func (c *connection) probe(ctx workflow.Context) (endpoint.ProbeResult, error) {
	before := c.WaitingFor
	c.WaitingFor = WaitingEndpoint
	var res endpoint.ProbeResult
	err := workflow.ExecuteActivity(probeOptions(ctx, "ask the endpoint of "+c.Key.Name+" for its tools"),
		endpoint.ProbeName, endpoint.ProbeRequest{Key: c.Key, Revision: c.Entry.DesiredRevision}).Get(ctx, &res)
	c.WaitingFor = before
	if err != nil || res.DesiredChanged {
		return res, err
	}
	c.saw(ctx, "", &engine.Tools{
		Expected: res.Expected, Present: res.Present, Missing: res.Missing, Count: res.Count, CheckedAt: res.CheckedAt,
		LastOKAt: res.LastOKAt,
	})
	return res, nil
}

// disconnect takes the entry out of the engine. It never fails the caller.
func (c *connection) disconnect(ctx workflow.Context, why string, ifIdle bool) engine.DisconnectResult {
	if c.EngineID == "" {
		return engine.DisconnectResult{OK: true}
	}
	res := c.disconnectFrom(ctx, c.EngineID, why, ifIdle)
	if res.OK {
		c.saw(ctx, statusDisabled, nil)
	}
	return res
}

func (c *connection) disconnectFrom(
	ctx workflow.Context, engineID, why string, ifIdle bool,
) engine.DisconnectResult {
	var res engine.DisconnectResult
	err := workflow.ExecuteActivity(disconnectOptions(ctx, "disconnect "+c.Key.Name+": "+why),
		engine.DisconnectName, engine.DisconnectRequest{Key: c.Key, EngineID: engineID, IfIdle: ifIdle}).Get(ctx, &res)
	if err != nil {
		f := failureOf(err, health.StageEngineDelivery)
		res = engine.DisconnectResult{Failure: &f}
	}
	return res
}
