package approval

import "time"

// OutcomeKind is how an execution ended. No two are ever told as one another.
type OutcomeKind string

// How executions end.
const (
	OutcomeCompleted OutcomeKind = "completed"       // the tool answered; its answer may itself be an error: see [Outcome].ToolError
	OutcomeFailed    OutcomeKind = "failed"          // it is known that the call did not succeed
	OutcomeDeclined  OutcomeKind = "declined"        // a person said no
	OutcomeCancelled OutcomeKind = "cancelled"       // a person, or an operator, called it off
	OutcomeExpired   OutcomeKind = "expired"         // nobody decided in time
	OutcomeUnknown   OutcomeKind = "outcome_unknown" // the call may have run, and may not be made again
)

// CodeRunEnded is the code of the outcome of an execution whose run is gone without a result: an operator of Temporal has ended it, or
// Temporal knows nothing of it any more.
const CodeRunEnded = "run_ended"

// Outcome is how an execution ended.
type Outcome struct {
	Kind OutcomeKind `json:"kind"`
	// ToolError says that the tool answered with isError.
	ToolError bool `json:"toolError,omitempty"`
	// Code and Message tell what failed, for [OutcomeFailed] and [OutcomeUnknown].
	Code    string    `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
	// Calls counts calls of the upstream; the result of the last is in the store under this number. 0: none was made.
	Calls int `json:"calls,omitempty"`
	// Digest is the SHA-256 of the stored result in hexadecimal; Bytes its length.
	Digest string `json:"digest,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
}
