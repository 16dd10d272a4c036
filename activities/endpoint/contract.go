package endpoint

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// ProbeName is the name of the activity. It is part of recorded histories: never rename it.
const ProbeName = "endpoint.probe"

// ProbeRequest asks to probe the endpoint with the desired config of the connection.
type ProbeRequest struct {
	Key      delivery.Key `json:"key"`
	Revision string       `json:"revision"`
}

// Step is one request of a probe.
type Step struct {
	Step          string `json:"step"`
	OK            bool   `json:"ok"`
	HTTPStatus    int    `json:"httpStatus,omitempty"`
	LatencyMillis int64  `json:"latencyMs"`
	Error         string `json:"error,omitempty"`
}

// ProbeResult is what the endpoint showed. A failure is a result: the probe classifies, the workflow decides.
type ProbeResult struct {
	// DesiredChanged means that the store holds another revision by now, or none; nothing was asked.
	DesiredChanged bool            `json:"desiredChanged,omitempty"`
	Expected       []string        `json:"expected"`
	Present        []string        `json:"present"`
	Missing        []string        `json:"missing"`
	Count          int             `json:"count"`
	Failure        *health.Failure `json:"failure,omitempty"`
	// Unreachable means that no usable HTTP answer came.
	Unreachable bool `json:"unreachable,omitempty"`
	// SessionLost means that the endpoint has forgotten its sessions since the last push, and the engine's with them, in a
	// way that the engine does not heal by itself. It is found by every probe until there is another push.
	SessionLost   bool      `json:"sessionLost,omitempty"`
	Steps         []Step    `json:"steps"`
	LatencyMillis int64     `json:"latencyMs"`
	CheckedAt     time.Time `json:"checkedAt"`
	// LastOKAt is when a probe of this connection last found nothing wrong; nil when none ever did.
	LastOKAt *time.Time `json:"lastOkAt,omitempty"`
}
