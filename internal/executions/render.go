package executions

import (
	"encoding/json"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
)

// Render says in words and fields what a method of the engine has answered. ok is false for an error that is no answer but a defect: its
// text is not for callers.
func Render(who Caller, report Report, err error) (rendered payload.Rendered, ok bool) {
	if err != nil {
		return renderError(err)
	}
	switch {
	case report.Conflict != nil:
		s := payload.Settlement{Key: report.Key, Decision: *report.Conflict, Outcome: report.Outcome}
		if report.Pause != nil {
			s.ID = report.Pause.ID
		}
		return payload.AlreadySettled(s), true
	case report.Status == StatusPaused && report.Pause != nil:
		return payload.Paused(asked(who, report)), true
	case report.Status == StatusCompleted && report.Outcome != nil:
		return ended(report), true
	case report.Status == StatusDenied:
		return payload.Denied(report.Address, "a rule"), true
	default:
		return payload.Pending(report.Key, report.Address), true
	}
}

// Detail is a pause whole, as the approval page's API gives it.
func Detail(who Caller, report Report) payload.Rendered { return payload.Detail(asked(who, report)) }

func asked(who Caller, report Report) payload.Question {
	return payload.Question{
		Mode: who.Mode, ModelMayAnswer: report.ModelMayAnswer, Refused: report.Refused, Origin: who.Origin, Address: report.Address,
		Arguments: report.Arguments, Pause: *report.Pause,
	}
}

func ended(report Report) payload.Rendered {
	outcome := *report.Outcome
	if outcome.Kind == approval.OutcomeCompleted {
		return payload.Completed(payload.Completion{
			Key: report.Key, Result: ToolResult(report.Result), ToolError: outcome.ToolError, Note: Note(report),
		})
	}
	e := payload.Ending{Key: report.Key, Address: report.Address, Outcome: outcome}
	if p := report.Pause; p != nil {
		e.ID, e.Window = p.ID, p.Deadline.Sub(p.CreatedAt)
		if p.Decision != nil {
			e.Reason = p.Decision.Reason
		}
	}
	return payload.Ended(e)
}

// Note is what a caller should know beside a tool's answer; mostly nothing.
func Note(report Report) string {
	if report.Pause != nil && report.Pause.Expired {
		return "the answer to " + report.Pause.ID + " came too late: the tool was told that nobody had decided in time"
	}
	return report.Outcome.Message
}

// ToolResult takes a tool's result apart. One that cannot be read is shown as the text that it is.
func ToolResult(raw json.RawMessage) payload.ToolResult {
	var out payload.ToolResult
	if len(raw) == 0 {
		return out
	}
	if json.Unmarshal(raw, &out) != nil {
		block, err := json.Marshal(map[string]string{"type": "text", "text": string(raw)})
		if err == nil {
			out.Content = []json.RawMessage{block}
		}
	}
	return out
}

func renderError(err error) (payload.Rendered, bool) {
	var (
		notFound    *NotFoundError
		forbidden   *ForbiddenError
		denied      *DeniedError
		unknown     *UnknownToolError
		arguments   *ArgumentsError
		unavailable *UnavailableError
		unanswered  *UnansweredError
	)
	switch {
	case errors.As(err, &notFound):
		return payload.NotFound(notFound.ID), true
	case errors.As(err, &forbidden):
		return payload.Forbidden(forbidden.ID), true
	case errors.As(err, &denied):
		return payload.Denied(denied.Address, denied.Rule), true
	case errors.As(err, &unknown):
		return payload.UnknownTool(unknown.Address, unknown.Suggestions), true
	case errors.As(err, &arguments) && arguments.Taken:
		return payload.NameTaken(arguments.Address), true
	case errors.As(err, &arguments):
		return payload.BadArguments(arguments.Address, arguments.Problem), true
	case errors.As(err, &unanswered):
		return payload.Unanswered(unanswered.ID), true
	case errors.As(err, &unavailable):
		return payload.Unavailable(unavailable.What), true
	case errors.Is(err, approval.ErrBadDecision):
		return payload.BadDecision(err.Error()), true
	default:
		return payload.Rendered{}, false
	}
}
