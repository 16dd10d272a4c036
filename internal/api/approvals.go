package api

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// getApprovals lists what waits for a person, or what no longer does.
func getApprovals(a *API, c *call) (*reply, error) {
	l, err := c.listed()
	if err != nil {
		return nil, err
	}
	filter := store.PauseFilter{
		Identity: l.identity, Organisation: l.organisation, Session: c.query.Get("session"), Key: c.query.Get("execution"),
		Limit: l.size + 1, Before: l.before,
	}
	open := true
	switch c.query.Get("state") {
	case "", "open":
		filter.Open = &open
	case "closed":
		open = false
		filter.Open = &open
	case "all":
	default:
		return nil, failf(CodeInvalidPayload, "state must be open, closed or all.")
	}
	rows, next, err := read(c.Context(), a, l.page, func(ctx context.Context) ([]store.PauseRow, error) { return a.Records.Pauses(ctx, filter) })
	if err != nil {
		return nil, err
	}
	return ok(approvalList{Items: approvalItems(rows), Next: next})
}

// getApproval shows one question whole.
func getApproval(a *API, c *call) (*reply, error) {
	row, err := a.pause(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	report, err := a.lookup(c, row.ID)
	if err != nil {
		return nil, err
	}
	return ok(approvalView{approvalItem: approvalItemOf(row), Arguments: report.Arguments, ModelMayAnswer: report.ModelMayAnswer})
}

// postDecision decides, and shows the decision that counts.
func postDecision(a *API, c *call) (*reply, error) {
	body, err := c.decision(true)
	if err != nil {
		return nil, err
	}
	row, err := a.pause(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	if row, err = a.rule(c, row, body); err != nil {
		return nil, err
	}
	return ok(approvalItemOf(row))
}
