package mcpprobe

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Names of the steps of a trace.
const (
	StepInitialize        = "initialize"
	StepInitializedNotice = "initialized_notice"
	StepToolsList         = "tools_list"
)

// Result is what a probe found. No part of it but the session's id is secret.
type Result struct {
	// Checked is false when the endpoint gave no usable HTTP answer.
	Checked bool `json:"checked"`
	// Expected, Present and Missing are tool names. With no expectation, Present holds the first hundred listed.
	Expected []string `json:"expected"`
	Present  []string `json:"present"`
	Missing  []string `json:"missing"`
	// ToolCount is the number of tools on all pages.
	ToolCount int   `json:"toolCount"`
	Trace     Trace `json:"trace"`
	// Failure is nil when all is well.
	Failure *health.Failure `json:"failure,omitempty"`
	// Unreachable says that the endpoint could not be reached in time. It is also set when the caller's context ended
	// first: look at that before believing it.
	Unreachable bool `json:"unreachable"`
	// Session is the session to give to the next probe as its canary; nil when there is none. A canary whose fate this
	// probe could not learn is returned unchanged.
	Session *Session `json:"session,omitempty"`
	// Forgotten is the HTTP status with which the endpoint refused the canary, although it accepted a new session
	// right after it: 200 for a JSON-RPC error in a good answer, or for one that lacks the tools which a new session
	// lists; 0 when it was not refused.
	Forgotten int `json:"forgotten"`
}

// Trace tells how a probe went.
type Trace struct {
	// Endpoint has no user info, query or fragment.
	Endpoint      string    `json:"endpoint"`
	StartedAt     time.Time `json:"startedAt"`
	LatencyMillis int64     `json:"latencyMs"`
	// ProtocolVersion is the negotiated one.
	ProtocolVersion string      `json:"protocolVersion,omitempty"`
	Server          *ServerInfo `json:"serverInfo"`
	Steps           []Step      `json:"steps"`
}

// ServerInfo is how the endpoint calls itself.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Step is one request, or all pages of one list.
type Step struct {
	// Step is one of the Step constants.
	Step string `json:"step"`
	OK   bool   `json:"ok"`
	// HTTPStatus is 0 when no headers arrived.
	HTTPStatus    int    `json:"httpStatus,omitempty"`
	LatencyMillis int64  `json:"latencyMs"`
	Error         string `json:"error,omitempty"`
}
