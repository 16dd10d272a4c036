package store

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Session is one MCP client's session: an alias for an identity, a mode and a resource. It never owns work.
type Session struct {
	ID       string // 64 hexadecimal digits, random, never used again
	Identity approval.Identity
	Mode     approval.Mode
	Resource string // "default"
	Role     string // of the principal at initialize
	Origin   string // under which the client reached the gateway: scheme and host
	Client   string // name and version that the client gave, at most 200 characters; for lists
	Protocol string // negotiated

	CreatedAt    time.Time
	LastSeenAt   time.Time
	TerminatedAt time.Time // zero: alive

	// State is the negotiated state as JSON of the SDK's ServerSessionState; sealed at rest.
	State []byte `json:"-"`
}

// Event is one message of a session's SSE log.
type Event struct {
	Session string
	Stream  string
	Seq     int64 // from 1, per stream
	// Data is the JSON-RPC message; empty for a priming event. Sealed at rest.
	Data []byte `json:"-"`
	// Response says that the message answers a request: the last ones of a stream end it.
	Response bool
	At       time.Time
}

// Stream is one SSE stream of a session: a POST's, or the standalone one.
type Stream struct {
	Session  string
	ID       string
	Requests []string // the JSON-RPC ids that are not answered yet, as JSON
	OpenedAt time.Time
	// Messages are the requests themselves as one JSON array, so that another replica can take them over; sealed at rest. They are
	// forgotten when the last request is answered, and lists leave them out.
	Messages []byte `json:"-"`
	// Owner is the replica that works on the requests; others leave them alone before Until, and take them over afterwards.
	Owner string
	Until time.Time
	// DoneAt is when the last request was answered; zero: some are not. A stream that is done and not acknowledged is undelivered.
	DoneAt  time.Time
	AckedAt time.Time
}

// InboxItem is a message that reached one replica and is for another one, which holds the session's transport or call.
type InboxItem struct {
	Session string
	Seq     int64
	Replica string // whom it is for, by the name under which it owns streams
	Kind    string // "response" or "cancelled"
	Message []byte `json:"-"` // JSON-RPC; sealed at rest
	At      time.Time
}

// Execution is what is written before an execution's workflow starts, and its projection for lists. The workflow is the truth about
// decisions and outcome.
type Execution struct {
	Key      string
	Identity approval.Identity
	Session  string // empty: asked for without one
	Mode     approval.Mode
	Resource string
	Client   string // who asked, in words
	// Request names the call for its caller: asked for again under it, the same identity gets the first execution. Empty: none.
	Request string

	Address   string // <source>.<tool>
	Arguments []byte `json:"-"` // canonical JSON; sealed at rest
	Digest    string // of address, arguments and policy version: what a decision is bound to
	Policy    string // version of the rules

	CreatedAt time.Time
	// Status is running, waiting, or an [approval.OutcomeKind].
	Status    string
	SettledAt time.Time
	Outcome   *approval.Outcome
	// Retained is until when the outcome can be read.
	Retained time.Time
}

// PauseRow is the projection of a pause.
type PauseRow struct {
	approval.Pause

	Key      string
	Identity approval.Identity
	Session  string
	Address  string
	Client   string
	Policy   string
	Digest   string
	// Outcome is how the execution ended, where it has.
	Outcome approval.OutcomeKind
	// Change is the number of the row's last change: of two changes of the store's pauses the later one has the higher.
	Change int64
}

// ExecutionEvent is one step of an execution, as held calls follow it.
type ExecutionEvent struct {
	Key   string
	Seq   int64 // from 1
	Kind  string
	Pause int // 0: of the execution as a whole
	At    time.Time
}

// The kinds of [ExecutionEvent].
const (
	EventPaused   = "paused"
	EventDecided  = "decided"  // with a decision, or by the deadline
	EventResuming = "resuming" // the run goes on with the decision
	EventSettled  = "settled"  // what followed from the decision is known: another pause, or the outcome
	EventOutcome  = "outcome"
)

// Call is one call of an upstream tool by an execution.
type Call struct {
	Key    string
	Number int   // from 1
	Fence  int64 // from 1; one more with each claim
	// Idempotency is what is sent upstream, the same for each try.
	Idempotency string
	ClaimedAt   time.Time
	DoneAt      time.Time // zero: claimed only
	Result      []byte    `json:"-"` // the tool's result as JSON; sealed at rest
	ToolError   bool
}

// Direct is one call of an upstream tool without an execution: what is written before a call that must not be made twice.
type Direct struct {
	Name     string // of the call, for its identity
	Identity approval.Identity
	Address  string
	Digest   string

	At        time.Time
	DoneAt    time.Time // zero: begun only
	Result    []byte    `json:"-"` // the tool's result as JSON; sealed at rest
	ToolError bool
}

// Audit is one line of the gateway's audit: who did what, when, with which end.
type Audit struct {
	ID        int64 // given by the store; of two lines the later one has the higher
	At        time.Time
	Identity  approval.Identity
	Principal string // the id
	Name      string // of the principal
	Via       string // mcp, page, api, cli
	// Action is call, execute, pause, accept, decline, cancel, expire, outcome, session-terminate.
	Action    string
	Session   string
	Execution string // key
	Pause     string // id
	Address   string
	Digest    string
	Policy    string
	Outcome   string        // completed, error, or an [approval.OutcomeKind]
	Latency   time.Duration // of a call
	Reason    string
}
