package api

import (
	"encoding/json"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// executionDetail is a paused execution as its client reads it.
type executionDetail struct {
	Text       string `json:"text"`
	Structured any    `json:"structured"`
}

// executionAnswer tells how a call stands, in the words that a client of MCP reads.
type executionAnswer struct {
	Status string `json:"status" enum:"completed,paused,pending"`
	// ExecutionID is the pause's where it is paused, else the execution's; empty for a call that was answered directly.
	ExecutionID string `json:"executionId,omitempty"`
	Text        string `json:"text"`
	Structured  any    `json:"structured"`
	IsError     bool   `json:"isError"`
}

// acknowledged says that a decision counts. What follows from it is not waited for.
type acknowledged struct {
	Status     string         `json:"status" enum:"completed"`
	Text       string         `json:"text"`
	Structured acknowledgment `json:"structured"`
	IsError    bool           `json:"isError"`
}

type acknowledgment struct {
	Status      string `json:"status" enum:"approved,denied,canceled"`
	ExecutionID string `json:"executionId"`
}

// executionItem is one execution of a list.
type executionItem struct {
	views.Execution

	SettledAt     *time.Time        `json:"settledAt,omitempty"`
	RetainedUntil *time.Time        `json:"retainedUntil,omitempty"`
	Outcome       *approval.Outcome `json:"outcome,omitempty"`
}

func executionItemOf(row store.Execution) executionItem {
	return executionItem{
		Execution: views.ExecutionOf(row), SettledAt: views.Moment(row.SettledAt), RetainedUntil: views.Moment(row.Retained),
		Outcome: row.Outcome,
	}
}

// executionList is one page, the latest first.
type executionList struct {
	Items []executionItem `json:"items"`
	// Next is the pageToken of the page after; empty: this is the last.
	Next string `json:"nextPageToken,omitempty"`
}

// executionView is one execution with its pauses.
type executionView struct {
	executionItem

	// Arguments are canonical and masked.
	Arguments json.RawMessage `json:"arguments"`
	Pauses    []approvalItem  `json:"pauses"`
	// Settled says that what followed from the last decision is known.
	Settled    bool   `json:"settled"`
	Text       string `json:"text"`
	Structured any    `json:"structured"`
	IsError    bool   `json:"isError"`
}

// pausedCount counts the pauses of the caller's that wait for a person.
type pausedCount struct {
	Count int  `json:"count"`
	Any   bool `json:"any"`
}

// Where an approval stands.
const (
	approvalWaiting = "waiting"
	approvalDecided = "decided"
	approvalExpired = "expired"
	approvalDropped = "dropped"
)

// approvalItem is one question to a person.
type approvalItem struct {
	ID        string `json:"id"`
	Execution string `json:"execution"`
	Number    int    `json:"number"`
	State     string `json:"state" enum:"waiting,decided,expired,dropped"`
	views.Approval

	Decision *views.DecisionView `json:"decision,omitempty"`
	// Outcome is how the execution ended, where it has.
	Outcome approval.OutcomeKind `json:"outcome,omitempty"`
}

func approvalItemOf(row store.PauseRow) approvalItem {
	return approvalItem{
		ID: row.ID, Execution: row.Key, Number: row.Number, State: stateOf(row.Pause), Approval: views.ApprovalOf(row),
		Decision: views.DecisionOf(row.Decision), Outcome: row.Outcome,
	}
}

func stateOf(p approval.Pause) string {
	switch {
	case p.Decision != nil:
		return approvalDecided
	case p.Expired:
		return approvalExpired
	case p.Dropped:
		return approvalDropped
	default:
		return approvalWaiting
	}
}

func approvalItems(rows []store.PauseRow) []approvalItem {
	items := make([]approvalItem, 0, len(rows))
	for _, row := range rows {
		items = append(items, approvalItemOf(row))
	}
	return items
}

// approvalList is one page, the latest first.
type approvalList struct {
	Items []approvalItem `json:"items"`
	Next  string         `json:"nextPageToken,omitempty"`
}

// approvalView is one question with everything that is decided on.
type approvalView struct {
	approvalItem

	// Arguments are canonical and masked.
	Arguments      json.RawMessage `json:"arguments"`
	ModelMayAnswer bool            `json:"modelMayAnswer"`
}

func (a *API) answerOf(c *call, report executions.Report) executionAnswer {
	told := a.tell(c, report)
	return executionAnswer{
		Status: string(report.Status), ExecutionID: idOf(report), Text: told.Text, Structured: told.Structured, IsError: told.IsError,
	}
}

func idOf(report executions.Report) string {
	switch {
	case report.Status == executions.StatusPaused && report.Pause != nil:
		return report.Pause.ID
	case report.Key != "":
		return "exec_" + report.Key
	default:
		return ""
	}
}
