package session

import (
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// WorkflowName is the workflow's type. Like all names here it is part of recorded histories and of what users type.
const WorkflowName = "session"

// Signals.
const (
	// SignalPaused, SignalResuming and SignalSettled are the pause hooks: an execution of this session was paused, goes on with a
	// decision, and what followed from it is known. They come in this order for a pause, and a later pause's after an earlier one's.
	SignalPaused   = "execution-paused"
	SignalResuming = "execution-resuming"
	SignalSettled  = "execution-settled"
	// SignalTouch says that the session was used.
	SignalTouch = "touch"
	// SignalTerminate ends it for good.
	SignalTerminate = "terminate"
)

// Queries.
const (
	QuerySnapshot = "snapshot"
	QueryLeases   = "leases"
)

const idPrefix = WorkflowName + ":"

// ID is the workflow id of a session's id.
func ID(sessionID string) string { return idPrefix + sessionID }

// ParseID reads the session's id back.
func ParseID(id string) (sessionID string, ok bool) { return strings.CutPrefix(id, idPrefix) }

// Hook is the input of the pause hooks.
type Hook struct {
	PauseID string `json:"pauseId"`
	// Deadline is when the pause expires.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Touch is the input of the signal.
type Touch struct {
	At time.Time `json:"at"`
	// Why is wake, sleep or use.
	Why string `json:"why,omitempty"`
}

// Terminate is the input of the signal.
type Terminate struct {
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Lease keeps a session resident for a pause until its deadline and 5 s.
type Lease struct {
	PauseID  string    `json:"pauseId"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until"`
	Resuming bool      `json:"resuming,omitempty"`
}

// Input starts a session's workflow.
type Input struct {
	ID        string            `json:"id"`
	Identity  approval.Identity `json:"identity"`
	Mode      approval.Mode     `json:"mode"`
	Client    string            `json:"client,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	// Retention ends a session that nobody has used for so long; AbsoluteLimit ends any, so long after it was made.
	Retention     time.Duration `json:"retention"`
	AbsoluteLimit time.Duration `json:"absoluteLimit"`
	// State is what the run before this one has left; nil starts the first.
	State *State `json:"state,omitempty"`
}

// HookEvent is one hook as it came, for the account of the last ones.
type HookEvent struct {
	Hook    string    `json:"hook"`
	PauseID string    `json:"pauseId"`
	At      time.Time `json:"at"`
}

// Snapshot is the answer of the query.
type Snapshot struct {
	ID         string            `json:"id"`
	Identity   approval.Identity `json:"identity"`
	Mode       approval.Mode     `json:"mode"`
	Client     string            `json:"client,omitempty"`
	CreatedAt  time.Time         `json:"createdAt"`
	LastUsedAt time.Time         `json:"lastUsedAt"`
	ExpiresAt  time.Time         `json:"expiresAt"`
	Leases     []Lease           `json:"leases"`
	// Hooks are the last 32 hooks, oldest first.
	Hooks      []HookEvent `json:"hooks"`
	Terminated bool        `json:"terminated,omitempty"`
}
