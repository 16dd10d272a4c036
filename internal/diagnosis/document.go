package diagnosis

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// SchemaVersion is that of [Document].
const SchemaVersion = 1

// ExpectedEngineVersion is the version of the engine whose behaviour this release is tested with.
const ExpectedEngineVersion = "1.18.33"

// The statuses of an engine's entry that are not the engine's own words.
const (
	StatusNotChecked  = "not_checked"
	StatusMissing     = "missing"
	StatusUnreachable = "unreachable"
	StatusUnknown     = "unknown"
)

// Where a list of a model's tools comes from.
const (
	SourceExperimentalTool   = "experimental_tool"
	SourceProviderCapability = "provider_capability"
	sourceToolsList          = "mcp_tools_list"
)

// How the read of the engine's version went.
const (
	ProbeOK          = "ok"
	ProbeUnavailable = "unavailable"
	ProbeNotChecked  = "not_checked"
)

// Document is a connection's health. No part of it is secret. Lists are never null.
type Document struct {
	SchemaVersion int          `json:"schemaVersion"`
	Phase         health.Phase `json:"phase"`
	// Usable is true when there is no failure at all and the delivery is ready and verified.
	Usable bool `json:"usable"`
	// UsableByCurrentModel is null where no model was asked about.
	UsableByCurrentModel  *bool `json:"usableByCurrentModel"`
	ConnectCatalogEnabled bool  `json:"connectCatalogEnabled"`
	// AppHostAuthorizationReady is always null: Holdfast keeps no credentials of app hosts.
	AppHostAuthorizationReady *bool           `json:"appHostAuthorizationReady"`
	Workspace                 Workspace       `json:"workspace"`
	Desired                   Desired         `json:"desired"`
	Delivery                  Delivery        `json:"delivery"`
	Engine                    Engine          `json:"engine"`
	EngineInspection          Inspection      `json:"engineInspection"`
	Tools                     Tools           `json:"tools"`
	PluginCanaries            Listing         `json:"pluginCanaries"`
	Compatibility             Compatibility   `json:"compatibility"`
	ToolDenies                []denies.Denial `json:"toolDenies"`
	// ToolDeniesUnknown says what could not be judged, and why; absent when all was.
	ToolDeniesUnknown []denies.Unknown `json:"toolDeniesUnknown,omitempty"`
	FirstFailure      *health.Failure  `json:"firstFailure"`
	CheckedAt         time.Time        `json:"checkedAt"`
	DurationMillis    int64            `json:"durationMs"`
}

// Workspace is where the connection belongs.
type Workspace struct {
	ID string `json:"id"`
	// Type is local when the engine runs on this machine, as its address tells, else remote; null while it is not known.
	Type      *string `json:"type"`
	Directory *string `json:"directory"`
	// Path is the directory on this machine; null for a remote engine.
	Path *string `json:"path"`
}

// Desired is what is wanted.
type Desired struct {
	Present  bool    `json:"present"`
	Name     string  `json:"name"`
	Revision *string `json:"revision"`
	// Account is set where the config is shared by the workspaces of an account.
	Account   string            `json:"account,omitempty"`
	Profile   desired.Profile   `json:"profile,omitempty"`
	Config    *desired.Redacted `json:"config"`
	Token     Token             `json:"token"`
	Org       map[string]any    `json:"org,omitempty"`
	App       map[string]any    `json:"app,omitempty"`
	UpdatedAt *time.Time        `json:"updatedAt,omitempty"`
}

// Token is what may be told of a token: never the token.
type Token struct {
	Present  bool           `json:"present"`
	Metadata map[string]any `json:"metadata,omitempty"`
	// Source is the kind of the token source; empty for a token that was given with the config.
	Source    string     `json:"source,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RenewAt   *time.Time `json:"renewAt,omitempty"`
}

// Delivery is the ledger as the workflow tells it, of the revision that is desired now.
type Delivery struct {
	connection.Snapshot

	// Source is workflow, memo (published last; no worker answered) or none (no workflow runs).
	Source string `json:"source"`
}

// Engine is what the engine says of the entry.
type Engine struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Inspection is what the engine says of all entries of the directory. Only checked is there when nothing was asked or
// answered.
type Inspection struct {
	Checked      bool  `json:"checked"`
	CloudPresent *bool `json:"cloudPresent,omitempty"`
	ServerCount  *int  `json:"serverCount,omitempty"`
	// Servers are the first fifty by name.
	Servers []Server `json:"servers,omitempty"`
}

// Server is one entry.
type Server struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Listing compares names with what is expected.
type Listing struct {
	Expected []string `json:"expected"`
	Present  []string `json:"present"`
	Missing  []string `json:"missing"`
}

// Tools is what is known of the connection's tools, by the engine's ids.
type Tools struct {
	Listing

	Direct             Direct     `json:"direct"`
	ProviderProjection Projection `json:"providerProjection"`
}

// Direct is what the endpoint itself listed to this read's probe, by its own names.
type Direct struct {
	Checked bool   `json:"checked"`
	Source  string `json:"source"`
	Listing

	Trace   *mcpprobe.Trace `json:"trace,omitempty"`
	Error   string          `json:"error,omitempty"`
	Failure *health.Failure `json:"failure,omitempty"`
}

// Projection is what one model gets.
type Projection struct {
	Checked     bool     `json:"checked"`
	Provider    string   `json:"provider,omitempty"`
	Model       string   `json:"model,omitempty"`
	Source      string   `json:"source,omitempty"`
	Limitation  string   `json:"limitation,omitempty"`
	ModelExists *bool    `json:"modelExists,omitempty"`
	ToolCalling *bool    `json:"toolCalling,omitempty"`
	Present     []string `json:"present"`
	Missing     []string `json:"missing"`
	Error       string   `json:"error,omitempty"`
}

// Compatibility says what works with what.
type Compatibility struct {
	OpenWork OpenWork `json:"openwork"`
	OpenCode OpenCode `json:"opencode"`
	// PluginFileHashes is always empty: Holdfast installs no plugin files.
	PluginFileHashes          []string     `json:"pluginFileHashes"`
	SupportedFeatures         Features     `json:"supportedFeatures"`
	ExperimentalToolIDs       Experimental `json:"experimentalToolIds"`
	ExperimentalProviderTools Experimental `json:"experimentalProviderTools"`
}

// OpenWork is this side.
type OpenWork struct {
	ServerVersion string         `json:"serverVersion"`
	App           map[string]any `json:"app"`
}

// OpenCode is the engine's side.
type OpenCode struct {
	ExpectedVersion string  `json:"expectedVersion"`
	ActualVersion   *string `json:"actualVersion"`
	Probe           string  `json:"probe"`
	Error           string  `json:"error,omitempty"`
}

// Features are what engine and connection support, as far as this read has seen.
type Features struct {
	DynamicMCP             bool `json:"dynamicMcp"`
	DirectoryScoping       bool `json:"directoryScoping"`
	ToolIDs                bool `json:"toolIds"`
	ProviderToolProjection bool `json:"providerToolProjection"`
	PluginCanaries         bool `json:"pluginCanaries"`
}

// Experimental tells of one of the engine's experimental routes.
type Experimental struct {
	Checked bool `json:"checked"`
	Count   int  `json:"count"`
	// IncludesMCPTools is null when the list was not read.
	IncludesMCPTools *bool  `json:"includesMcpTools"`
	Error            string `json:"error,omitempty"`
}
