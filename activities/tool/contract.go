package tool

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// The names of the activities. They are part of recorded histories: never rename them.
const (
	CallName   = "tool.call"
	SettleName = "tool.settle"
	RecordName = "tool.record"
)

// CallRequest asks for one try of a call. Its arguments are in the execution's row.
type CallRequest struct {
	Key     string `json:"key"`
	Number  int    `json:"number"`
	Fence   int64  `json:"fence"`
	Address string `json:"address"`
	Digest  string `json:"digest"`
	// Timeout bounds the try, without the time in which the tool waits for a person.
	Timeout time.Duration `json:"timeout"`
}

// CallState says what is known of a call.
type CallState string

const (
	// StateNone means that the call did not reach the tool: nothing is claimed.
	StateNone CallState = "none"
	// StateDone means that the tool answered; its result is in the store.
	StateDone CallState = "done"
	// StateClaimed means that the call may have run, and that no result is known.
	StateClaimed CallState = "claimed"
	// StateRefused means that the upstream is known not to have done it, and would not do it if asked again.
	StateRefused CallState = "refused"
)

// CallResult is the answer of [CallName] and [SettleName].
type CallResult struct {
	State     CallState `json:"state"`
	ToolError bool      `json:"toolError,omitempty"`
	// Digest and Bytes are of the stored result.
	Digest string `json:"digest,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`
	// Code and Message say why there is no result. The message ends with what the upstream says of a refusal.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// SettleRequest asks what became of a call whose worker was lost.
type SettleRequest struct {
	Key    string `json:"key"`
	Number int    `json:"number"`
	// Grace is how long an answer may still come that a worker fetches which only seemed to be lost.
	Grace time.Duration `json:"grace,omitempty"`
}

// RecordRequest is one step of an execution that is to be written down. What it holds may be written again: nothing changes then.
type RecordRequest struct {
	Key string `json:"key"`
	// AskedBy is the id of the principal that wants the call, for the audit.
	AskedBy string `json:"askedBy,omitempty"`
	// Paused is a pause that was opened, Decided one that was decided or has expired.
	Paused  *approval.Pause `json:"paused,omitempty"`
	Decided *approval.Pause `json:"decided,omitempty"`
	// Outcome is how the execution ended, and Dropped are the pauses that waited then.
	Outcome *approval.Outcome `json:"outcome,omitempty"`
	Dropped []approval.Pause  `json:"dropped,omitempty"`
	Events  []Event           `json:"events"`
}

// The kinds of [Event].
const (
	EventPaused   = store.EventPaused
	EventDecided  = store.EventDecided
	EventResuming = store.EventResuming
	EventSettled  = store.EventSettled
	EventOutcome  = store.EventOutcome
)

// Event is one step of an execution, as held calls follow it.
type Event struct {
	Seq   int64     `json:"seq"` // from 1
	Kind  string    `json:"kind"`
	Pause int       `json:"pause,omitempty"` // 0: of the execution as a whole
	At    time.Time `json:"at"`
}
