package desired

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// LoadName is the name of the activity. It is part of recorded histories: never rename it.
const LoadName = "desired.load"

// LoadRequest asks for the desired config of a connection.
type LoadRequest struct {
	Key delivery.Key `json:"key"`
}

// LoadResult is what is wanted, without secrets.
type LoadResult struct {
	// Present is false when nothing is wanted; everything else is then empty.
	Present       bool             `json:"present"`
	Revision      string           `json:"revision,omitempty"`
	EngineID      string           `json:"engineId,omitempty"`
	Profile       string           `json:"profile,omitempty"`
	Config        desired.Redacted `json:"config,omitzero"`
	ExpectedTools []string         `json:"expectedTools,omitempty"`
	// TimeoutMillis is the timeout that a push sends.
	TimeoutMillis int `json:"timeoutMillis,omitempty"`
	// Token is what is known of the token, where the config has a source for it rather than a fixed one.
	Token *TokenView `json:"token,omitempty"`
	// Account is set where the config is shared by the workspaces of an account.
	Account string `json:"account,omitempty"`
	// Failure is set when the stored config breaks a rule of its profile, or names no directory or no engine. Nothing is
	// delivered then.
	Failure *health.Failure `json:"failure,omitempty"`
}

// TokenView is what may be told of a token: all but the token.
type TokenView struct {
	// Source is the kind of the token source.
	Source string `json:"source"`
	// Sequence counts the tokens of the credential; 0: there is none that may be used.
	Sequence  int64      `json:"sequence"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// RenewAt is when another one is to be minted.
	RenewAt *time.Time `json:"renewAt,omitempty"`
}
