package connection

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

// Steps of a refresh, in order.
const (
	stepEngineDisconnect = "engine_disconnect"
	stepReapply          = "reapply"
)

// dropForRefresh takes the entry out of the engine so that the repair that follows delivers it from scratch. A client
// that a session uses is not dropped: the delivery then waits for idle like any other.
func (c *connection) dropForRefresh(ctx workflow.Context) {
	c.Intents.Refresh = false
	r := c.refresh
	if r == nil {
		// The request was made to an earlier run, whose caller has gone.
		r = &Refresh{Trigger: UpdateRefresh, StartedAt: workflow.Now(ctx)}
	}
	if c.Entry.DesiredRevision == "" {
		r.Reason = "desired_missing"
		return
	}
	r.Performed = true
	c.doubt(ctx, 0, "refresh", r.Trigger)
	res := c.disconnect(ctx, "refresh", true)
	detail := map[string]any(nil)
	switch {
	case res.Busy:
		detail = map[string]any{"waitingFor": WaitingEngineIdle}
	case res.Failure != nil:
		detail = map[string]any{"code": res.Failure.Code, "stage": res.Failure.Stage}
	}
	r.Steps = append(r.Steps, RefreshStep{
		Step: stepEngineDisconnect, OK: res.OK, LatencyMillis: res.LatencyMillis, Detail: detail,
	})
}

// refreshed completes the account of a refresh with the delivery that followed.
func (c *connection) refreshed(ctx workflow.Context) Refresh {
	if c.refresh == nil {
		return Refresh{Steps: []RefreshStep{}}
	}
	r := *c.refresh
	if !r.Performed {
		return r
	}
	now := workflow.Now(ctx)
	r.FinishedAt = &now
	spent := now.Sub(r.StartedAt)
	for _, s := range r.Steps {
		spent -= time.Duration(s.LatencyMillis) * time.Millisecond
	}
	step := RefreshStep{
		Step: stepReapply, OK: c.Entry.State == delivery.Ready, LatencyMillis: max(spent, 0).Milliseconds(),
	}
	if f := c.firstFailure(); f != nil {
		step.Detail = map[string]any{"code": f.Code, "stage": f.Stage}
	} else if c.WaitingFor != "" {
		step.Detail = map[string]any{"waitingFor": c.WaitingFor}
	}
	r.Steps = append(append([]RefreshStep{}, r.Steps...), step)
	return r
}
