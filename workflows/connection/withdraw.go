package connection

import (
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// withdraw takes the entry out of the engine because it is not wanted any more. A client that a session uses is left until
// the session is idle; nothing shows the connection as usable meanwhile.
func (c *connection) withdraw(ctx workflow.Context, why string) {
	res := c.disconnect(ctx, why, true)
	c.Withdraw = !res.OK
	if res.Busy {
		c.WaitingFor = WaitingEngineIdle
	}
}

// withdrawWhenIdle rests until the engine could be rid of the entry, or something is asked for.
func (c *connection) withdrawWhenIdle(ctx workflow.Context) {
	restCtx, stop := workflow.WithCancel(ctx)
	defer stop()
	gone := workflow.ExecuteActivity(withdrawOptions(restCtx, "disconnect "+c.Key.Name+" once no session uses it"),
		engine.DisconnectName, engine.DisconnectRequest{Key: c.Key, EngineID: c.EngineID, IfIdle: true, Wait: true})
	await(ctx, func() bool { return gone.IsReady() || c.woken() })
	if !gone.IsReady() {
		return
	}
	var res engine.DisconnectResult
	if err := gone.Get(ctx, &res); err != nil {
		f := failureOf(err, health.StageEngineDelivery)
		c.log.Warn("entry not withdrawn", "code", string(f.Code))
	}
	// An engine that refuses for good is no reason to ask it for ever.
	c.Withdraw, c.WaitingFor = false, ""
	if res.OK {
		c.saw(ctx, statusDisabled, nil)
	}
}
