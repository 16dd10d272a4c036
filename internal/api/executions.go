package api

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const (
	// maxHold is how long a caller may have an answer held.
	maxHold = 55 * time.Second
	// maxReason bounds a decision's reason, in characters.
	maxReason = 1000
)

var waitParam = param{name: "wait", about: "how long the answer is held while the execution goes on, such as 10s; at most 55s"}

// hold reads how long a caller wants to wait; 0: the gateway's default.
func (c *call) hold() (time.Duration, error) {
	text := c.query.Get(waitParam.name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxHold {
		return 0, failf(CodeInvalidPayload, "wait must be a duration from 0s to %s.", maxHold)
	}
	return max(d, time.Millisecond), nil
}

// executeBody is a call of a tool.
type executeBody struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty" shape:"object" checked:"later"`
	// AutoApprove answers every question with accept; it passes no rule that denies. For an owner only.
	AutoApprove bool `json:"autoApprove,omitempty"`
}

// postExecution calls a tool, and waits until it is done, a person is asked, or the hold is over.
func postExecution(a *API, c *call) (*reply, error) {
	var body executeBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	hold, err := c.hold()
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(body.Tool) == "":
		return nil, failf(CodeInvalidPayload, "tool must be an address: GET /api/v1/tools lists those there are.")
	case !absentOrObject(body.Arguments):
		return nil, failf(CodeInvalidPayload, "arguments must be an object.")
	case body.AutoApprove && !c.principal.Role.Allows(auth.RoleOwner):
		return nil, failf(CodeForbidden, "autoApprove is for an owner only.")
	}
	name, err := c.requestName()
	if err != nil {
		return nil, err
	}
	report, err := a.Executions.Execute(c.Context(), a.caller(c), executions.Call{
		Address: body.Tool, Arguments: body.Arguments, AutoApprove: body.AutoApprove, Request: name, Hold: hold, Release: a.serving.Done(),
	})
	if err != nil {
		return nil, executionFault(err)
	}
	if report.Status == executions.StatusDenied {
		return nil, fail(CodeToolDenied)
	}
	return ok(a.answerOf(c, report))
}

// requestName names a call by its Idempotency-Key.
func (c *call) requestName() (string, error) {
	key := c.Header.Get(headerKey)
	if !legibleKey(key) {
		return "", badKey()
	}
	if key == "" {
		return "", nil
	}
	return "api:" + key, nil
}

func absentOrObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null")) || raw[0] == '{'
}

// getExecution tells how an execution stands, without waiting.
func getExecution(a *API, c *call) (*reply, error) {
	report, err := a.lookup(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	return ok(a.answerOf(c, report))
}

func (a *API) lookup(c *call, id string) (executions.Report, error) {
	return fromEngine(c.Context(), a, func(ctx context.Context) (executions.Report, error) {
		return a.Executions.Lookup(ctx, a.caller(c), id)
	})
}

// decisionBody is what a person has decided.
type decisionBody struct {
	Action  approval.Action `json:"action"`
	Content json.RawMessage `json:"content,omitempty" shape:"object"`
	// Reason is in the person's own words; at most 1,000 characters.
	Reason string `json:"reason,omitempty"`
}

// decision reads and checks a body.
func (c *call) decision(strict bool) (decisionBody, error) {
	var body decisionBody
	if err := c.decode(&body, strict); err != nil {
		return body, err
	}
	switch {
	case !body.Action.Valid():
		return body, failf(CodeInvalidPayload, "action must be accept, decline or cancel.")
	case !absentOrObject(body.Content):
		return body, failf(CodeInvalidPayload, "content must be an object.")
	case len([]rune(body.Reason)) > maxReason:
		return body, failf(CodeInvalidPayload, "reason must not be longer than %d characters.", maxReason)
	}
	if body.Action != approval.ActionAccept {
		body.Content = nil // only what is accepted has values
	}
	return body, nil
}

// postExecutionResume decides on a pause and waits for what follows.
func postExecutionResume(a *API, c *call) (*reply, error) {
	body, err := c.decision(true)
	if err != nil {
		return nil, err
	}
	hold, err := c.hold()
	if err != nil {
		return nil, err
	}
	row, err := a.pause(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	report, err := fromRuns(c.Context(), a, func(ctx context.Context) (executions.Report, error) {
		return a.Executions.Resume(ctx, a.caller(c), executions.Answer{
			ID: row.ID, Action: body.Action, Content: body.Content, Reason: body.Reason, Hold: hold, Release: a.serving.Done(),
		})
	})
	if err != nil {
		return nil, err
	}
	if report.Conflict != nil {
		return nil, decidedOtherwise(report.Conflict)
	}
	if p := report.Pause; p != nil && p.ID == row.ID && p.Expired {
		return nil, fail(CodeExecutionExpired).with("executionId", row.ID)
	}
	return ok(a.answerOf(c, report))
}

func decidedOtherwise(first *approval.Decision) *Error {
	by := first.Name
	if by == "" {
		by = first.By
	}
	return failf(CodeAlreadyDecided, "%s has decided %s before, and that counts.", by, first.Action).with("decision", views.DecisionOf(first))
}

// cancelBody says why an execution is called off.
type cancelBody struct {
	Reason string `json:"reason,omitempty"`
}

// postExecutionCancel calls an execution off. A call that has begun is not undone.
func postExecutionCancel(a *API, c *call) (*reply, error) {
	var body cancelBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	if len([]rune(body.Reason)) > maxReason {
		return nil, failf(CodeInvalidPayload, "reason must not be longer than %d characters.", maxReason)
	}
	report, err := fromRuns(c.Context(), a, func(ctx context.Context) (executions.Report, error) {
		return a.Executions.Cancel(ctx, a.caller(c), c.path("id"), body.Reason)
	})
	if err != nil {
		return nil, err
	}
	return ok(a.answerOf(c, report))
}

// pause reads the pause of an id, or the last one of an execution's key.
func (a *API) pause(c *call, id string) (store.PauseRow, error) {
	return fromEngine(c.Context(), a, func(ctx context.Context) (store.PauseRow, error) {
		return a.Executions.Paused(ctx, a.caller(c), id)
	})
}

// pauseOfSession reads a pause by the path of the session that asked.
func (a *API) pauseOfSession(c *call) (store.PauseRow, error) {
	row, err := a.pause(c, c.path("eid"))
	if err == nil && row.Session != c.path("sid") {
		err = fail(CodeExecutionNotFound)
	}
	return row, err
}

// getSessionExecution is what the client was told of a pause.
func getSessionExecution(a *API, c *call) (*reply, error) {
	row, err := a.pauseOfSession(c)
	if err != nil {
		return nil, err
	}
	report, err := a.lookup(c, row.ID)
	if err != nil {
		return nil, err
	}
	told := a.tell(c, report)
	return ok(executionDetail{Text: told.Text, Structured: told.Structured})
}

// postSessionResume decides and acknowledges: the decision drives the run, whoever waits for it.
func postSessionResume(a *API, c *call) (*reply, error) {
	body, err := c.decision(false)
	if err != nil {
		return nil, err
	}
	row, err := a.pauseOfSession(c)
	if err != nil {
		return nil, err
	}
	if _, err := a.rule(c, row, body); err != nil {
		return nil, err
	}
	return ok(acknowledge(row.ID, body.Action))
}

// rule decides on a pause without waiting for the run, and refuses what cannot be decided any more. It gives the pause with the
// decision that counts.
func (a *API) rule(c *call, row store.PauseRow, body decisionBody) (store.PauseRow, error) {
	report, err := fromRuns(c.Context(), a, func(ctx context.Context) (executions.Report, error) {
		return a.Executions.Decide(ctx, a.caller(c), executions.Answer{
			ID: row.ID, Action: body.Action, Content: body.Content, Reason: body.Reason,
		})
	})
	if err != nil {
		return row, err
	}
	if report.Pause != nil && report.Pause.ID == row.ID {
		row.Pause = *report.Pause
	}
	if report.Outcome != nil {
		row.Outcome = report.Outcome.Kind
	}
	switch decision := row.Decision; {
	case report.Conflict != nil:
		return row, decidedOtherwise(report.Conflict)
	case decision != nil && decision.Action != body.Action:
		return row, decidedOtherwise(decision)
	case row.Expired, decision == nil && row.Outcome == approval.OutcomeExpired:
		return row, fail(CodeExecutionExpired).with("executionId", row.ID)
	case decision == nil && (row.Dropped || row.Outcome != ""):
		return row, endedBefore(report).with("executionId", row.ID).with("outcome", row.Outcome)
	default:
		return row, nil
	}
}

// endedBefore refuses what comes too late for an execution, and says why where nobody has ended it on purpose.
func endedBefore(report executions.Report) *Error {
	o := report.Outcome
	if o == nil || o.Code != approval.CodeRunEnded || o.Message == "" {
		return fail(CodeExecutionSettled)
	}
	return failf(CodeExecutionSettled, "This cannot be decided: %s.", o.Message)
}
