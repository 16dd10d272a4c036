package cli

import (
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// callView tells how a call stands.
type callView struct {
	Approval  string              `json:"approval,omitempty"` // what was decided on, or what waits
	Execution string              `json:"execution,omitempty"`
	Address   string              `json:"address"`
	Status    executions.Status   `json:"status"`
	Outcome   *approval.Outcome   `json:"outcome"`
	Decision  *views.DecisionView `json:"decision,omitempty"`
	// Text and Structured are what the call's client is told.
	Text       string `json:"text"`
	Structured any    `json:"structured"`
	IsError    bool   `json:"isError"`
}

func (a *App) newCallView(who executions.Caller, report executions.Report) callView {
	rendered, _ := executions.Render(who, report, nil)
	if report.Status == executions.StatusPaused && report.Pause != nil && report.Conflict == nil {
		rendered = executions.Detail(who, report)
	}
	v := callView{
		Execution: report.Key, Address: report.Address, Status: report.Status, Outcome: report.Outcome, Text: rendered.Text,
		Structured: rendered.Structured, IsError: rendered.IsError, Decision: views.DecisionOf(report.Conflict),
	}
	if p := report.Pause; p != nil {
		v.Approval = p.ID
		if p.Decision != nil {
			v.Decision = views.DecisionOf(p.Decision)
		}
	}
	return v
}

// finishCall prints a call's answer: its text to standard output, as the tool gave it.
func (a *App) finishCall(v callView, verdict error) error {
	if a.JSON() {
		if err := a.printJSON(v); err != nil {
			return err
		}
		return verdict
	}
	if v.Status == executions.StatusCompleted {
		if v.Outcome != nil && v.Execution != "" {
			a.say("execution %s: %s", v.Execution, v.Outcome.Kind)
		}
		text := v.Text
		if verdict == nil {
			text = orDone(v)
		}
		if _, err := fmt.Fprintln(a.options.Stdout, text); err != nil {
			return fmt.Errorf("write answer: %w", err)
		}
		return verdict
	}
	if verdict == nil {
		a.say("decided; see: holdfast execution get %s", v.Execution)
	}
	return verdict
}

// orDone is what whoever said no is told: for them it is no error. All else is told in the words that the call's client reads.
func orDone(v callView) string {
	switch {
	case v.Outcome == nil:
		return v.Text
	case v.Outcome.Kind == approval.OutcomeDeclined:
		return fmt.Sprintf("Declined: %s was not called.", v.Address)
	case v.Outcome.Kind == approval.OutcomeCancelled && v.Outcome.Calls > 0:
		return fmt.Sprintf("Cancelled while %s was being called: what it did by then is not undone.", v.Address)
	case v.Outcome.Kind == approval.OutcomeCancelled:
		return fmt.Sprintf("Cancelled: %s was not called.", v.Address)
	default:
		return v.Text
	}
}
