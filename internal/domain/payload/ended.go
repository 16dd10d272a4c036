package payload

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Ending is an execution that ended in another way than by the tool's answer.
type Ending struct {
	Key     string
	ID      string // under which the caller asked: the pause's; empty: the execution's
	Address string
	Outcome approval.Outcome
	// Window is how long the person had; 0: the default.
	Window time.Duration
	// Reason is what the person who decided gave as a reason.
	Reason string
}

// Ended tells how an execution ended without an answer of the tool.
func Ended(e Ending) Rendered {
	switch e.Outcome.Kind {
	case approval.OutcomeExpired:
		return expired(e)
	case approval.OutcomeDeclined:
		return refused(e, "declined", "a person declined it; the tool was not called")
	case approval.OutcomeCancelled:
		return refused(e, "cancelled", cancelled(e.Outcome.Calls))
	case approval.OutcomeUnknown:
		why := "the connection to it was lost after the call had begun"
		if e.Outcome.Code == approval.CodeRunEnded {
			why = "its run is gone from Temporal, and nobody knows how far it came"
		}
		return ended(e, failed{
			Reason: "outcome_unknown", Code: e.Outcome.Code, Recovery: recoveryVerify,
			Error: fmt.Sprintf("%s may or may not have run: %s. "+
				"It is not made again by itself. Find out whether it took effect before you make the call again", e.Address, why),
		})
	default:
		message := fmt.Sprintf("%s failed: %s", e.Address, orNothing(e.Outcome.Message, orNothing(e.Outcome.Code, "the tool gave no answer")))
		return ended(e, failed{Reason: "failed", Code: e.Outcome.Code, Error: message})
	}
}

// cancelled does not claim that nothing happened when the tool had been called.
func cancelled(calls int) string {
	if calls > 0 {
		return "the execution was cancelled while the tool was being called; what the tool did by then is not undone"
	}
	return "the execution was cancelled; the tool was not called"
}

func refused(e Ending, reason, what string) Rendered {
	message := fmt.Sprintf("%s: %s: %s", e.Address, reason, what)
	if e.Reason != "" {
		message += fmt.Sprintf(" (reason given: %s)", strings.TrimSpace(e.Reason))
	}
	return ended(e, failed{Reason: reason, Code: e.Outcome.Code, Error: message})
}

func ended(e Ending, f failed) Rendered {
	f.Status, f.ExecutionID, f.Logs = StatusError, orNothing(e.ID, executionID(e.Key)), []string{}
	return Rendered{Text: "Error: " + f.Error, Structured: f, IsError: true}
}

type lost struct {
	Status      string `json:"status"`
	ExecutionID string `json:"executionId"`
	TTL         int64  `json:"ttlMs,omitempty"`
	Recovery    string `json:"recovery,omitempty"`
}

func expired(e Ending) Rendered {
	window := e.Window
	if window <= 0 {
		window = defaultApprovalWindow
	}
	id := orNothing(e.ID, executionID(e.Key))
	return Rendered{
		Text: fmt.Sprintf("Execution %s expired: nobody decided in time, and the tool was not called. Approval windows last %s. "+
			"Run the execute_capability tool again if it is still wanted.", id, TTL(window)),
		Structured: lost{Status: StatusExpired, ExecutionID: id, TTL: window.Milliseconds(), Recovery: recoveryReExecute},
		IsError:    true,
	}
}

// NotFound tells of an id that is not known, or whose outcome is retained no more.
func NotFound(id string) Rendered {
	return Rendered{
		Text: fmt.Sprintf("Execution %s is not known, or its outcome is not kept any longer. "+
			"If it is still wanted and was not carried out, run the execute_capability tool again.", id),
		Structured: lost{Status: StatusNotFound, ExecutionID: id, Recovery: recoveryReExecute},
		IsError:    true,
	}
}

// Forbidden tells of an execution of somebody else's.
func Forbidden(id string) Rendered {
	return Rendered{
		Text:       fmt.Sprintf("Execution %s can be resumed only by the same account and organization that started it.", id),
		Structured: lost{Status: StatusForbidden, ExecutionID: id},
		IsError:    true,
	}
}

// Settlement is a wish to decide on what was decided otherwise before.
type Settlement struct {
	ID       string // of the pause
	Key      string
	Decision approval.Decision // the one that counts
	Outcome  *approval.Outcome // nil: not known yet
}

type settled struct {
	Status      string               `json:"status"`
	ExecutionID string               `json:"executionId"`
	Decision    decided              `json:"decision"`
	Outcome     approval.OutcomeKind `json:"outcome,omitempty"`
	Run         string               `json:"run"`
}

type decided struct {
	Action approval.Action `json:"action"`
	By     string          `json:"by"`
	Via    approval.Via    `json:"via"`
	At     string          `json:"at"`
	Reason string          `json:"reason,omitempty"`
}

// AlreadySettled tells of the first decision. It does not advise to run the call again: what was decided first may have run.
func AlreadySettled(s Settlement) Rendered {
	first := decided{
		Action: s.Decision.Action, By: orNothing(s.Decision.Name, s.Decision.By), Via: s.Decision.Via,
		At: s.Decision.At.UTC().Format(iso8601), Reason: s.Decision.Reason,
	}
	text := fmt.Sprintf("Execution %s is already settled: %s decided %q by %s at %s, and that decision counts.", s.ID, first.By, first.Action, first.Via, first.At)
	out := settled{Status: StatusAlreadySettled, ExecutionID: s.ID, Decision: first, Run: executionID(s.Key)}
	if s.Outcome != nil {
		out.Outcome = s.Outcome.Kind
		text += fmt.Sprintf(" The execution ended: %s.", s.Outcome.Kind)
	}
	return Rendered{
		Text:       text + fmt.Sprintf(" Call resume with executionId %s to read how it ends.", out.Run),
		Structured: out,
		IsError:    true,
	}
}
