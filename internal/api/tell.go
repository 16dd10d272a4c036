package api

import (
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// tell says how an execution stands, in the words that a client of MCP reads in model mode.
func (a *API) tell(c *call, report executions.Report) payload.Rendered {
	who := a.caller(c)
	if report.Status == executions.StatusPaused && report.Pause != nil {
		return executions.Detail(who, report)
	}
	rendered, _ := executions.Render(who, report, nil)
	return rendered
}

// acknowledge says that a decision counts, in words for the person to give to the agent.
func acknowledge(id string, action approval.Action) acknowledged {
	status, text := "approved", "I've approved it."
	switch action {
	case approval.ActionDecline:
		status, text = "denied", "I've denied it."
	case approval.ActionCancel:
		status, text = "canceled", "I've canceled it."
	case approval.ActionAccept:
	}
	return acknowledged{Status: "completed", Text: text, Structured: acknowledgment{Status: status, ExecutionID: id}}
}
