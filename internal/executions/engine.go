package executions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Caller is on whose behalf something is asked, and by which way.
type Caller struct {
	Identity  approval.Identity
	Principal string // id
	Name      string
	Session   string // empty: none
	Mode      approval.Mode
	Resource  string
	Client    string // name of the MCP client, for those who approve
	Origin    string // scheme and host under which the caller reached the gateway: for links
	Via       string // mcp, page, api, cli
	// Operator may see, decide and cancel what others of the same organisation have asked for.
	Operator bool
}

// Call is a tool call.
type Call struct {
	Address     string
	Arguments   json.RawMessage // an object; nil: {}
	AutoApprove bool
	// Request names the call for its caller, at most 300 characters: made again under the same name, by the same identity, it attaches
	// to the first and is not made twice; with other arguments it is refused. Empty: each call is another.
	Request string
	// Hold is how long the caller waits at most before it is told that the execution goes on; 0: the default.
	Hold time.Duration
	// Release, when closed, ends the wait as the end of the hold does. A tool that is being called is not cut off. nil: never.
	Release <-chan struct{}
}

// Status says where an execution is, as its caller is told.
type Status string

// The statuses of a report.
const (
	StatusCompleted Status = "completed" // settled, or answered directly: see Outcome and Result
	StatusPaused    Status = "paused"    // a person is asked: see Pause
	StatusPending   Status = "pending"   // it goes on: ask again with its key
	StatusDenied    Status = "denied"    // a rule refuses it; nothing was done
)

// Report is what is known of an execution when a caller is answered.
type Report struct {
	Status  Status
	Key     string // empty: answered directly
	Address string
	// Arguments are canonical and masked.
	Arguments json.RawMessage
	// Pause is the one that waits, the one that was decided on, or the one that kept the call from being made.
	Pause   *approval.Pause
	Outcome *approval.Outcome
	// Result is the tool's result as it came (the JSON of CallToolResult), where there is one.
	Result json.RawMessage
	// Digest, Policy and ModelMayAnswer are of the gate.
	Digest, Policy string
	ModelMayAnswer bool
	// Refused says that the caller wanted to answer and may not: nothing was decided.
	Refused bool
	// Conflict is the decision that counts, where the caller asked for another one.
	Conflict *approval.Decision
}

// Answer is what a caller wants decided. An empty Action only asks how the execution stands, and waits.
type Answer struct {
	ID      string // of the pause, or the execution's key
	Action  approval.Action
	Content json.RawMessage
	Reason  string
	Hold    time.Duration
	Release <-chan struct{} // as that of [Call]
}

// Engine runs tool calls. What is asked of an execution is answered only to its own identity (or to an operator of its organisation,
// where the caller says so): to others it is [*NotFoundError] or [*ForbiddenError] as its method says.
type Engine interface {
	// Execute makes a call, and waits until it is done, a person is asked, or the hold is over.
	Execute(ctx context.Context, who Caller, call Call) (Report, error)
	// Resume decides on a pause, or attaches to what was decided, and waits as Execute does. Another identity is [*ForbiddenError];
	// an id that is not known, or whose outcome is retained no more, [*NotFoundError].
	Resume(ctx context.Context, who Caller, answer Answer) (Report, error)
	// Decide decides on a pause and does not wait for the run.
	Decide(ctx context.Context, who Caller, answer Answer) (Report, error)
	// Cancel calls an execution off.
	Cancel(ctx context.Context, who Caller, id, reason string) (Report, error)
	// Lookup reads an execution, without waiting.
	Lookup(ctx context.Context, who Caller, id string) (Report, error)
	// Paused reads one pause.
	Paused(ctx context.Context, who Caller, id string) (store.PauseRow, error)
	// PausedCount counts the pauses of the caller's identity that wait.
	PausedCount(ctx context.Context, who Caller) (int, error)
	// HasPaused reports whether there is any.
	HasPaused(ctx context.Context, who Caller) (bool, error)
	// Settled reports whether what followed from a pause is known.
	Settled(ctx context.Context, who Caller, id string) (bool, error)
}
