package connection

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// load reads what is wanted and tells the ledger. What cannot be read is a failure of its own and changes nothing else:
// the engine keeps what it has.
func (c *connection) load(ctx workflow.Context) {
	trigger := c.Intents.Trigger
	c.Intents.Load, c.Intents.Trigger = false, ""

	var got desired.LoadResult
	err := workflow.ExecuteLocalActivity(loadOptions(ctx, "read what is wanted of "+c.Key.Name),
		desired.LoadName, desired.LoadRequest{Key: c.Key}).Get(ctx, &got)
	if temporal.IsCanceledError(err) {
		return
	}
	if err != nil {
		f := failureOf(err, health.StageDesiredConfig)
		c.LoadFailure = &f
		if c.Entry.DesiredRevision != "" {
			c.fail(ctx, f)
		}
		return
	}
	c.LoadFailure, c.NextAttemptAt = nil, nil
	if !got.Present {
		c.unwanted(ctx)
		return
	}
	c.moveTo(ctx, got.EngineID)
	c.Desired = &got
	if c.Entry.DesiredRevision != got.Revision {
		c.Attempts, c.WaitingFor, c.DisabledAt = 0, "", nil
	}
	c.forgetTokens(got)
	held := c.mayBeHeld()
	c.apply(ctx, delivery.Wanted{Revision: got.Revision, Trigger: trigger})
	if got.Failure == nil {
		return
	}
	c.fail(ctx, *got.Failure)
	if held && got.Failure.Code == health.CodeDisabled {
		c.withdraw(ctx, "switched off")
	}
}

// moveTo gives the connection another engine. What the one before holds is taken away first: it would go on using it, with
// its token. An engine that cannot be reached any more is not waited for.
func (c *connection) moveTo(ctx workflow.Context, engineID string) {
	before := c.EngineID
	if engineID == "" || engineID == before {
		return
	}
	c.EngineID = engineID
	if before == "" || !c.mayBeHeld() {
		return
	}
	res := c.disconnectFrom(ctx, before, "moved to "+engineID, false)
	if !res.OK {
		c.log.Warn("entry not taken out of the engine before", "engine_id", before)
	}
	c.EngineStatus, c.Withdraw = "", false
	c.doubt(ctx, 0, "moved from engine "+before+" to "+engineID, "")
}

// forgetTokens starts anew where another source is wanted: what is remembered is about the tokens of the one before.
func (c *connection) forgetTokens(got desired.LoadResult) {
	if got.Token == nil || got.Revision != c.Entry.DesiredRevision {
		c.Token = nil
	}
}

// mayBeHeld reports whether the engine may hold an entry that was delivered.
func (c *connection) mayBeHeld() bool {
	return c.Withdraw || c.Entry.Pushed != nil || c.Entry.Receipt != nil || c.Entry.State == delivery.Registering
}

// unwanted withdraws the entry from the engine, once, and forgets what was delivered.
func (c *connection) unwanted(ctx workflow.Context) {
	if c.Entry.State != delivery.NotDesired {
		c.withdraw(ctx, "nothing is desired any more")
	}
	c.Desired, c.Tools, c.Token, c.Degraded, c.EngineStatus = nil, nil, nil, nil, ""
	if !c.Withdraw {
		c.WaitingFor = ""
	}
	c.apply(ctx, delivery.Unwanted{Reason: "nothing is desired any more"})
}

// failureOf reads the failure that an activity reported, or says that the activity itself was lost.
func failureOf(err error, stage health.Stage) health.Failure {
	if f, ok := apperr.FailureOf(err); ok {
		return f
	}
	return health.EngineUnreachable(stage, "no worker finished the step: "+rootCause(err))
}

// rootCause names what became of an activity, without its text.
func rootCause(err error) string {
	switch {
	case temporal.IsTimeoutError(err):
		return "it timed out"
	case temporal.IsCanceledError(err):
		return "it was canceled"
	default:
		return "it failed"
	}
}
