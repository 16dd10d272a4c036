package connection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// WorkflowName is the workflow's type. Like all names here it is part of recorded histories and of what users type.
const WorkflowName = "connection"

// Updates answer within [UpdateWait].
const (
	// UpdateProbe looks and repairs: one full cycle.
	UpdateProbe = "probe"
	// UpdateReconcile delivers what the store holds now.
	UpdateReconcile = "reconcile"
	// UpdateRefresh drops the entry and delivers it anew.
	UpdateRefresh = "refresh"
	// UpdateRemove disconnects the entry and ends the workflow.
	UpdateRemove = "remove"
)

// Signals. Each may be sent without input.
const (
	// SignalMarkStale distrusts what was delivered: registered again from scratch.
	SignalMarkStale = "mark-stale"
	// SignalDesiredChanged says that the store holds another desired config.
	SignalDesiredChanged = "desired-changed"
	// SignalEngineEvent says that a generation of the engine's entry is over.
	SignalEngineEvent = "engine-event"
	// SignalForceContinueAsNew starts a new run at the next rest.
	SignalForceContinueAsNew = "force-continue-as-new"
)

// Queries.
const (
	QuerySnapshot    = "snapshot"
	QueryHealth      = "health"
	QueryTransitions = "transitions"
	QueryProjection  = "projection"
)

// MemoSnapshot is the memo field that holds the last published [Snapshot]. It is sealed by the payload codec and can be
// read with no worker running.
const MemoSnapshot = "snapshot"

// UpdateWait is how long an update waits for its work before it answers with what is known.
const UpdateWait = 55 * time.Second

// ErrTypeRollingOver is the type of the error by which an update is refused while the run is being replaced. Sending it
// again is safe and right.
const ErrTypeRollingOver = "rolling-over"

const idPrefix = WorkflowName

// ID is the workflow id of a connection: readable parts, percent-escaped, and a hash of the directory. Parts that would
// make it longer than 200 bytes are cut and the hash covers them.
func ID(key delivery.Key) string {
	const room = 80
	workspace, name := url.QueryEscape(key.Workspace), url.QueryEscape(key.Name)
	covered := key.Directory
	if len(workspace) > room || len(name) > room {
		covered = strings.Join([]string{key.Workspace, key.Name, key.Directory}, "\x00")
		workspace, name = cut(workspace, room), cut(name, room)
	}
	sum := sha256.Sum256([]byte(covered))
	return strings.Join([]string{idPrefix, workspace, name, hex.EncodeToString(sum[:8])}, ":")
}

// cut shortens an escaped part without leaving half an escape at its end.
func cut(s string, room int) string {
	if len(s) <= room {
		return s
	}
	s = s[:room]
	if i := strings.LastIndexByte(s, '%'); i > len(s)-3 {
		s = s[:i]
	}
	return s
}

// ErrNotAConnectionID is returned by [ParseID] for an id of another kind.
var ErrNotAConnectionID = errors.New("not a connection's workflow id")

// ParseID reads workspace and name back from a workflow id. The directory is only there as a hash.
func ParseID(id string) (workspace, name string, err error) {
	parts := strings.Split(id, ":")
	if len(parts) != 4 || parts[0] != idPrefix {
		return "", "", fmt.Errorf("parse %q: %w", id, ErrNotAConnectionID)
	}
	workspace, errW := url.QueryUnescape(parts[1])
	name, errN := url.QueryUnescape(parts[2])
	if errW != nil || errN != nil {
		return "", "", fmt.Errorf("parse %q: %w", id, ErrNotAConnectionID)
	}
	return workspace, name, nil
}

// Request is the input of probe, reconcile, refresh and remove. All of it is optional.
type Request struct {
	// Trigger says why, in the caller's words; it is shown with the delivery.
	Trigger string `json:"trigger,omitempty"`
}

// MarkStale is the input of the signal; a bare string is taken as the reason.
type MarkStale struct {
	Reason string `json:"reason,omitempty"`
}

// UnmarshalJSON takes the object, or a bare string for the sake of people who type.
func (m *MarkStale) UnmarshalJSON(raw []byte) error {
	var reason string
	if json.Unmarshal(raw, &reason) == nil {
		m.Reason = reason
		return nil
	}
	type plain MarkStale
	return json.Unmarshal(raw, (*plain)(m))
}

// DesiredChanged is the input of the signal. An empty revision means "look in the store"; a revision that is desired
// already is ignored.
type DesiredChanged struct {
	Revision string `json:"revision,omitempty"`
	Trigger  string `json:"trigger,omitempty"`
}

// EngineEvent is the input of the signal: the generation that was current when the engine was seen to have lost the
// entry. An older one is ignored; 0 asks for a look.
type EngineEvent struct {
	Generation int64  `json:"generation"`
	Reason     string `json:"reason,omitempty"`
}

// SnapshotRequest is the input of the query. Of another revision than the desired one the answer is pending.
type SnapshotRequest struct {
	Revision *string `json:"revision,omitempty"`
}

// WaitingFor says what a connection waits for before it can go on.
type WaitingFor string

// What a connection may wait for.
const (
	// WaitingEngineIdle waits until no session uses the client that a push would replace.
	WaitingEngineIdle WaitingFor = "engine_idle"
	// WaitingPush waits for a push to be answered.
	WaitingPush WaitingFor = "push"
	// WaitingEndpoint waits for the endpoint to answer a probe.
	WaitingEndpoint WaitingFor = "endpoint"
	// WaitingToken waits for a token to be minted.
	WaitingToken WaitingFor = "token"
	// WaitingRetry waits for the time of the next attempt.
	WaitingRetry WaitingFor = "retry"
)

// Degraded says that the endpoint was missed once while the connection is ready.
type Degraded struct {
	Since   time.Time      `json:"since"`
	Failure health.Failure `json:"failure"`
}

// Snapshot is the answer of the query: the delivery as connections know it, and what is under way.
type Snapshot struct {
	delivery.Snapshot

	// Reason is why the state is what it is: that of the last transition.
	Reason string `json:"reason,omitempty"`
	// StateSince is when the state became what it is; updatedAt also tells of looks that changed nothing.
	StateSince    *time.Time `json:"stateSince,omitempty"`
	WaitingFor    WaitingFor `json:"waitingFor,omitempty"`
	Degraded      *Degraded  `json:"degraded,omitempty"`
	Attempts      int        `json:"attempts"`
	NextAttemptAt *time.Time `json:"nextAttemptAt,omitempty"`
	// Token tells of the token, where the config has a source for it.
	Token     *TokenView `json:"token,omitempty"`
	EngineID  string     `json:"engineId,omitempty"`
	Directory string     `json:"directory"`
}

// EngineView is what the engine said last.
type EngineView struct {
	// Status is not_checked, missing, unreachable, or the engine's own word.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Health is the answer of the query and of the updates.
type Health struct {
	SchemaVersion int             `json:"schemaVersion"`
	Phase         health.Phase    `json:"phase"`
	Usable        bool            `json:"usable"`
	Workspace     string          `json:"workspace"`
	Name          string          `json:"name"`
	Delivery      Snapshot        `json:"delivery"`
	Desired       DesiredView     `json:"desired"`
	Engine        EngineView      `json:"engine"`
	Tools         *engine.Tools   `json:"tools,omitempty"`
	WaitingFor    WaitingFor      `json:"waitingFor,omitempty"`
	FirstFailure  *health.Failure `json:"firstFailure"`
	CheckedAt     *time.Time      `json:"checkedAt"`
	// Earlier is set when the same request was answered before, in this run or an earlier one.
	Earlier *Answered `json:"earlier,omitempty"`
}

// DesiredView is what is wanted, without secrets.
type DesiredView struct {
	Present       bool   `json:"present"`
	Name          string `json:"name"`
	Revision      string `json:"revision,omitempty"`
	Profile       string `json:"profile,omitempty"`
	Config        any    `json:"config,omitempty"`
	TimeoutMillis int    `json:"timeoutMillis,omitempty"`
	// Account is set where the config is shared by the workspaces of an account.
	Account string `json:"account,omitempty"`
}

// RefreshStep is one step of a refresh, in order.
type RefreshStep struct {
	Step          string         `json:"step"`
	OK            bool           `json:"ok"`
	LatencyMillis int64          `json:"latencyMs"`
	Detail        map[string]any `json:"detail,omitempty"`
}

// Refresh tells what a refresh did.
type Refresh struct {
	Performed  bool          `json:"performed"`
	Reason     string        `json:"reason,omitempty"`
	Trigger    string        `json:"trigger"`
	StartedAt  time.Time     `json:"startedAt"`
	FinishedAt *time.Time    `json:"finishedAt,omitempty"`
	Steps      []RefreshStep `json:"steps"`
}

// RefreshResult is the answer of the update.
type RefreshResult struct {
	Refresh Refresh `json:"refresh"`
	Health  Health  `json:"health"`
}

// Transition is one change of state.
type Transition struct {
	// Sequence counts the transitions of a connection over all its runs, from 1.
	Sequence   int64          `json:"sequence"`
	From       delivery.State `json:"from"`
	To         delivery.State `json:"to"`
	At         time.Time      `json:"at"`
	Reason     string         `json:"reason"`
	Trigger    string         `json:"trigger,omitempty"`
	Code       health.Code    `json:"code,omitempty"`
	Generation int64          `json:"generation"`
}

// Projection is the read that model execution uses: the connection, or nothing.
type Projection struct {
	Usable   bool     `json:"usable"`
	Name     string   `json:"name,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Tools    []string `json:"tools,omitempty"`
}

// Answered records a request that was answered.
type Answered struct {
	Key        string      `json:"key"`
	Kind       string      `json:"kind"`
	FinishedAt time.Time   `json:"finishedAt"`
	Revision   string      `json:"revision,omitempty"`
	Phase      string      `json:"phase"`
	Code       health.Code `json:"code,omitempty"`
}
