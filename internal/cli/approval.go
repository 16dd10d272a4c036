package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const approvalLong = `The id is in holdfast approval list; an execution's id stands for what of it waits.`

func newApproval(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "approval",
		Aliases: []string{"approvals"},
		Short:   "Tool calls that wait for a person: list, show, decide",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(
		newApprovalList(a), newApprovalShow(a),
		verdict{
			action: approval.ActionAccept, wanted: approval.OutcomeCompleted, use: "approve", short: "Let a call be made",
			long: "Approves, waits for the outcome and prints it.",
		}.command(a),
		verdict{
			action: approval.ActionDecline, wanted: approval.OutcomeDeclined, use: "decline", short: "Refuse a call; the caller is told so",
			long: "Declines, and prints what became of it.",
		}.command(a),
		verdict{
			action: approval.ActionCancel, wanted: approval.OutcomeCancelled, use: "cancel", short: "Take a call back without a yes or no",
			long: "Cancels, and prints what became of it.",
		}.command(a),
	)
	return cmd
}

// approvalView is one question to a person.
type approvalView struct {
	ID        string `json:"id"`
	Execution string `json:"execution"`
	State     string `json:"state"`
	views.Approval

	Decision *views.DecisionView  `json:"decision"`
	Outcome  approval.OutcomeKind `json:"outcome,omitempty"`
}

func newApprovalView(row store.PauseRow) approvalView {
	return approvalView{
		ID: row.ID, Execution: row.Key, State: pauseState(row.Pause), Approval: views.ApprovalOf(row),
		Decision: views.DecisionOf(row.Decision), Outcome: row.Outcome,
	}
}

// pauseState is one word: what was decided, or what became of a pause without a decision.
func pauseState(p approval.Pause) string {
	switch {
	case p.Decision != nil && p.Decision.Action == approval.ActionAccept:
		return "approved"
	case p.Decision != nil && p.Decision.Action == approval.ActionDecline:
		return "declined"
	case p.Decision != nil:
		return "cancelled"
	case p.Expired:
		return "expired"
	case p.Dropped:
		return "dropped"
	default:
		return "waiting"
	}
}

// left is how long a person still has, for people.
func (v approvalView) left() string {
	if v.State != "waiting" || v.Deadline == nil {
		return noValue
	}
	return age(time.Until(*v.Deadline))
}
