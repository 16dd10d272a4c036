package payload

import (
	"fmt"
	"strings"
)

// Denied tells that a rule refuses the call.
func Denied(address, rule string) Rendered {
	return refusal(failed{
		Reason: "tool_blocked", Code: "tool_blocked",
		Error: fmt.Sprintf("%s is blocked by %s; nothing was done, and no approval can change that", address, rule),
	})
}

// NotAllowed tells that whoever asks may not do this here, whatever the rules say.
func NotAllowed(why string) Rendered {
	return refusal(failed{Reason: "not_allowed", Code: "not_allowed", Error: why + "; nothing was done"})
}

// UnknownTool tells that there is no such tool, and names at most 5 like it.
func UnknownTool(address string, suggestions []string) Rendered {
	message := fmt.Sprintf("no tool %q", address)
	if len(suggestions) > 0 {
		message += "; did you mean " + strings.Join(suggestions, ", ") + "?"
	} else {
		message += "; find one with search_capabilities"
	}
	return refusal(failed{Reason: "tool_not_found", Code: "tool_not_found", Error: message, Suggestions: suggestions})
}

// BadArguments tells that the arguments do not fit.
func BadArguments(address, problem string) Rendered {
	return refusal(failed{
		Reason: "invalid_tool_arguments", Code: "invalid_tool_arguments",
		Error: fmt.Sprintf("arguments of %s: %s; nothing was asked and nothing was done", address, problem),
	})
}

// NameTaken tells that another call was made under the name that this one has.
func NameTaken(address string) Rendered {
	return refusal(failed{
		Reason: "invalid_tool_arguments", Code: "invalid_tool_arguments",
		Error: fmt.Sprintf("%s was not called: another call was made under this name; use a new one for this call", address),
	})
}

// Unavailable tells that what is needed cannot be reached now.
func Unavailable(what string) Rendered {
	return refusal(failed{
		Reason: "unavailable", Code: what + "_unavailable",
		Error: what + " cannot be reached: try again in a while",
	})
}

// Unanswered tells that a decision was sent, and that it is not known yet whether it counts.
func Unanswered(id string) Rendered {
	return refusal(failed{
		Reason: "unanswered", Code: "no_worker",
		Error: fmt.Sprintf("nobody has answered, as no worker of the gateway runs or Temporal is away: the decision may still come to count, until "+
			"its deadline. Call resume with executionId %q and nothing else in a while to read what became of it", id),
	})
}

// Internal tells of a defect, by a number under which the log has the cause.
func Internal(number string) Rendered {
	return refusal(failed{Reason: "internal", Error: fmt.Sprintf("Internal tool error [%s]", number)})
}

func refusal(f failed) Rendered {
	f.Status, f.Logs = StatusError, []string{}
	return Rendered{Text: "Error: " + f.Error, Structured: f, IsError: true}
}

// BadDecision tells that an answer cannot be a decision.
func BadDecision(problem string) Rendered {
	return refusal(failed{Reason: "invalid_decision", Code: "invalid_decision", Error: problem + "; nothing was decided"})
}
