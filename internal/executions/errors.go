package executions

import "fmt"

// NotFoundError means that no execution or pause is known under an id, or is retained no more.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("execution %s is not known, or its outcome is not kept any longer: make the call again", e.ID)
}

// ForbiddenError means that an execution belongs to another account or organisation.
type ForbiddenError struct{ ID string }

func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("execution %s can be resumed only by the same account and organization", e.ID)
}

// DeniedError means that a rule refuses a call.
type DeniedError struct{ Address, Rule string }

func (e *DeniedError) Error() string { return fmt.Sprintf("%s is blocked by %s", e.Address, e.Rule) }

// UnknownToolError means that there is no such tool, or none that may be seen.
type UnknownToolError struct {
	Address     string
	Suggestions []string // at most 5
}

func (e *UnknownToolError) Error() string { return fmt.Sprintf("no tool %q", e.Address) }

// ArgumentsError means that arguments do not fit the tool's schema. Nothing was asked and nothing was done.
type ArgumentsError struct {
	Address, Problem string
	// Taken means that the arguments are not at fault: another call was made under the name of this one.
	Taken bool
}

func (e *ArgumentsError) Error() string {
	if e.Taken {
		return e.Problem
	}
	return fmt.Sprintf("arguments of %s: %s", e.Address, e.Problem)
}

// UnavailableError means that what is needed (Temporal, the store, the upstream) cannot be reached now.
type UnavailableError struct {
	What string // temporal, store, upstream
	Err  error
}

func (e *UnavailableError) Error() string { return e.What + " cannot be reached: try again" }

// UnansweredError means that a decision was sent and nobody has answered in time: it may still come to count. To send it again is safe;
// another one does not take it back.
type UnansweredError struct {
	ID  string // of the pause
	Err error
}

func (e *UnansweredError) Error() string {
	return "nobody has answered, as no worker runs or Temporal is away: the decision may still come to count, until its deadline"
}

// Unwrap gives the cause, for logs.
func (e *UnansweredError) Unwrap() error { return e.Err }

// Unwrap gives the cause, for logs.
func (e *UnavailableError) Unwrap() error { return e.Err }
