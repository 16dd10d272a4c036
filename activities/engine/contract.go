package engine

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Names of the activities. They are part of recorded histories: never rename one.
const (
	RegisterName   = "engine.register"
	InspectName    = "engine.inspect"
	DisconnectName = "engine.disconnect"
	WatchName      = "engine.watch"
)

// RegisterRequest asks to deliver the desired config to the engine.
type RegisterRequest struct {
	Key        delivery.Key `json:"key"`
	Revision   string       `json:"revision"`
	Generation int64        `json:"generation"`
	// EngineID is the engine that the caller means; empty: whichever the connection has by now.
	EngineID string `json:"engineId,omitempty"`
	// Proven says that this revision was delivered in this generation: with a live "connected" there is nothing to do.
	Proven bool `json:"proven,omitempty"`
	// QuietWaitMillis is how long to wait for the moment at which no session uses the client that a push replaces; 0: not
	// at all.
	QuietWaitMillis int `json:"quietWaitMillis,omitempty"`
	// Force pushes although a session uses the client: what it has is of no use any more.
	Force bool `json:"force,omitempty"`
}

// RegisterOutcome is what came of a registration.
type RegisterOutcome string

// The outcomes of a registration.
const (
	// RegisterDelivered means that the push answered and a later status read said connected.
	RegisterDelivered RegisterOutcome = "delivered"
	// RegisterAlreadyProven means that the engine holds this revision already; nothing was pushed.
	RegisterAlreadyProven RegisterOutcome = "already_proven"
	// RegisterEngineBusy means that a session uses the client which a push would replace; nothing was pushed.
	RegisterEngineBusy RegisterOutcome = "engine_busy"
	// RegisterDesiredChanged means that the store holds another revision by now, or none, or names another engine; nothing
	// was pushed.
	RegisterDesiredChanged RegisterOutcome = "desired_changed"
	// RegisterTokenMissing means that the config's token was dropped or expired since it was minted; nothing was pushed.
	RegisterTokenMissing RegisterOutcome = "token_missing"
	// RegisterRejected means that the engine pushed and says that the server is not connected.
	RegisterRejected RegisterOutcome = "rejected"
)

// RegisterResult tells what came of a registration. Trouble in reaching the engine is an error instead.
type RegisterResult struct {
	Outcome RegisterOutcome `json:"outcome"`
	// Status is the engine's word for the entry after the push.
	Status string `json:"status,omitempty"`
	// Failure is set for rejected.
	Failure       *health.Failure `json:"failure,omitempty"`
	LatencyMillis int64           `json:"latencyMillis,omitempty"`
	// Token is the sequence of the token that was pushed, where the config has a token source.
	Token          int64      `json:"token,omitempty"`
	TokenExpiresAt *time.Time `json:"tokenExpiresAt,omitempty"`
}

// Mode is what an inspection looks for.
type Mode string

// The modes of an inspection.
const (
	// ModeWatch watches a ready connection for anything that is not as it should be.
	ModeWatch Mode = "watch"
	// ModeRecover watches a failed connection for a cause to change.
	ModeRecover Mode = "recover"
	// ModeIdle waits until no session uses the client that a push would replace.
	ModeIdle Mode = "idle"
)

// InspectRequest asks to look at a connection until a decision is due.
type InspectRequest struct {
	Key        delivery.Key `json:"key"`
	Revision   string       `json:"revision"`
	Generation int64        `json:"generation"`
	Mode       Mode         `json:"mode"`
	// EngineID is the engine that the caller means; empty: whichever the connection has by now.
	EngineID string `json:"engineId,omitempty"`
	// Proven says that the receipt holds: a live "connected" is then our own.
	Proven bool `json:"proven,omitempty"`
	// Degraded says that the last look found the endpoint unreachable.
	Degraded bool `json:"degraded,omitempty"`
	// Failure is what is known to be wrong, in ModeRecover.
	Failure *health.Failure `json:"failure,omitempty"`
	// Status is the engine's last known word for the entry, in ModeRecover.
	Status string `json:"status,omitempty"`
	// Token is what the engine was given, where the config has a token source.
	Token *TokenSeen `json:"token,omitempty"`
	// Once asks for an answer from one look that includes the endpoint, also when nothing is to be decided.
	Once bool `json:"once,omitempty"`
}

// TokenSeen is what is known of the token that the engine was given.
type TokenSeen struct {
	// Sequence is the token that the engine was given, Tried the newest one that a repair had.
	Sequence  int64      `json:"sequence"`
	Tried     int64      `json:"tried,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// Refused is the digest of a token that the endpoint refused before it was delivered, empty where there is none: a
	// variable or a file that still holds it holds nothing new. After RefusedUntil it is worth another try: the endpoint
	// may have come to know it.
	Refused      string     `json:"refused,omitempty"`
	RefusedUntil *time.Time `json:"refusedUntil,omitempty"`
	// RetryAt is when a renewal that failed may be tried again.
	RetryAt *time.Time `json:"retryAt,omitempty"`
}

// Decision is why an inspection came back.
type Decision string

// The decisions of an inspection.
const (
	// DecisionInSync means that all is as it should be. Only an inspection with Once says so.
	DecisionInSync Decision = "in_sync"
	// DecisionEntryGone means that the engine has no entry of this name.
	DecisionEntryGone Decision = "entry_gone"
	// DecisionEntryStatus means that the entry is there and not connected.
	DecisionEntryStatus Decision = "entry_status"
	// DecisionEntryConnected means that an entry which was not connected is connected again.
	DecisionEntryConnected Decision = "entry_connected"
	// DecisionEngineDown means that the engine does not answer.
	DecisionEngineDown Decision = "engine_down"
	// DecisionEngineIdle means that no session uses the client.
	DecisionEngineIdle Decision = "engine_idle"
	// DecisionDesiredChanged means that the store holds another revision, or none, or names another engine.
	DecisionDesiredChanged Decision = "desired_changed"
	// DecisionEndpointMissed means a first miss: the endpoint was not reached.
	DecisionEndpointMissed Decision = "endpoint_missed"
	// DecisionEndpointFailed means that the endpoint failed in the way that Failure tells.
	DecisionEndpointFailed Decision = "endpoint_failed"
	// DecisionEndpointHealthy means that the endpoint is well again.
	DecisionEndpointHealthy Decision = "endpoint_healthy"
	// DecisionSessionForgotten means that the endpoint forgot its sessions in a way that the engine does not heal.
	DecisionSessionForgotten Decision = "session_forgotten"
	// DecisionTokenDue means that the token is soon of no use, or that there is none.
	DecisionTokenDue Decision = "token_due"
	// DecisionTokenRenewed means that there is a newer token than the engine was given, and that it can be delivered now.
	DecisionTokenRenewed Decision = "token_renewed"
)

// InspectResult is the decision that is due, and what was seen.
type InspectResult struct {
	Decision Decision        `json:"decision"`
	Status   string          `json:"status,omitempty"`
	Failure  *health.Failure `json:"failure,omitempty"`
	// Tools is what the endpoint listed, where the look included it.
	Tools     *Tools    `json:"tools,omitempty"`
	CheckedAt time.Time `json:"checkedAt"`
}

// Tools is what an endpoint listed, against what is expected of it.
type Tools struct {
	Expected  []string  `json:"expected"`
	Present   []string  `json:"present"`
	Missing   []string  `json:"missing"`
	Count     int       `json:"count"`
	CheckedAt time.Time `json:"checkedAt"`
	// LastOKAt is when the endpoint was last found well; nil when it never was. While all stays well it may be older than
	// the last probe: a look that decides nothing tells nothing.
	LastOKAt *time.Time `json:"lastOkAt,omitempty"`
}

// DisconnectRequest asks to disconnect the entry from the engine.
type DisconnectRequest struct {
	Key delivery.Key `json:"key"`
	// EngineID names the engine; the desired config may be gone by now.
	EngineID string `json:"engineId"`
	// IfIdle leaves a client alone that a session uses.
	IfIdle bool `json:"ifIdle,omitempty"`
	// Wait has the server try again for as long as a session uses the client or the engine does not answer.
	Wait bool `json:"wait,omitempty"`
}

// DisconnectResult tells what came of a disconnect.
type DisconnectResult struct {
	// OK is true when the engine has no live client of this name any more.
	OK            bool            `json:"ok"`
	Busy          bool            `json:"busy,omitempty"`
	Failure       *health.Failure `json:"failure,omitempty"`
	LatencyMillis int64           `json:"latencyMillis"`
}

// WatchRequest asks to watch an engine for as long as it has connections.
type WatchRequest struct {
	EngineID string `json:"engineId"`
}

// WatchResult says why a watch ended.
type WatchResult struct {
	Reason string `json:"reason"`
}
