package desired

import (
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
	// Failure is set when the stored config breaks a rule of its profile, or names no directory or no engine. Nothing is
	// delivered then.
	Failure *health.Failure `json:"failure,omitempty"`
}
