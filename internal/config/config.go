package config

import (
	"log/slog"
	"path/filepath"
	"time"
)

// Config is all settings. The tags of a field give its key, its default, how the default is shown where it is computed, and its
// meaning for the table of the README.
type Config struct {
	DataDir string `yaml:"data_dir" shown:"$XDG_DATA_HOME/holdfast, else ~/.local/share/holdfast" doc:"folder of everything that Holdfast keeps on disk"`

	Store     Store     `yaml:"store"`
	Keys      Keys      `yaml:"keys"`
	Temporal  Temporal  `yaml:"temporal"`
	Inspect   Inspect   `yaml:"inspect"`
	Engine    Engine    `yaml:"engine"`
	Endpoint  Endpoint  `yaml:"endpoint"`
	Worker    Worker    `yaml:"worker"`
	Fleet     Fleet     `yaml:"fleet"`
	Gateway   Gateway   `yaml:"gateway"`
	OIDC      OIDC      `yaml:"oidc"`
	Sources   Sources   `yaml:"sources"`
	Policy    Policy    `yaml:"policy"`
	Sessions  Sessions  `yaml:"sessions"`
	Approvals Approvals `yaml:"approvals"`
	Codec     Codec     `yaml:"codec"`
	Log       Log       `yaml:"log"`
}

// Store says where desired configs and runtime rows are kept.
type Store struct {
	Path string `yaml:"path" shown:"<data_dir>/holdfast.db" doc:"SQLite database file"`
}

// Keys says where the keysets are.
type Keys struct {
	Dir string `yaml:"dir" shown:"<data_dir>/keys" doc:"folder of the keysets that seal secrets and make revisions"`
}

// Temporal is what Holdfast adds to the standard TEMPORAL_* settings.
type Temporal struct {
	TaskQueue          string        `yaml:"task_queue" default:"holdfast" doc:"task queue of workflows and activities"`
	NamespaceRetention time.Duration `yaml:"namespace_retention" default:"192h" doc:"how long closed workflows stay readable; given to a namespace that setup creates, at least 24h"`
}

// Inspect says how often a healthy connection is looked at.
type Inspect struct {
	PollInterval  time.Duration `yaml:"poll_interval" default:"30s" doc:"between two looks at the engine, at least 1s"`
	ProbeInterval time.Duration `yaml:"probe_interval" default:"60s" doc:"between two probes of the MCP endpoint itself, at least 1s"`
	Jitter        float64       `yaml:"jitter" default:"0.1" doc:"part of both intervals that is varied at random, 0 to 0.5"`
}

// Engine bounds calls of the engine's API.
type Engine struct {
	Timeout time.Duration `yaml:"timeout" default:"5s" doc:"deadline of one call of the engine, 100ms to 10m"`
}

// Endpoint bounds calls of MCP endpoints.
type Endpoint struct {
	Timeout time.Duration `yaml:"timeout" default:"5s" doc:"deadline of each read from an MCP endpoint, 1ms to 10m; OPENWORK_CLOUD_MCP_PROBE_TIMEOUT_MS (milliseconds) is honoured below the variable and above the file"`
}

// Worker is the settings of the worker process.
type Worker struct {
	StopTimeout   time.Duration `yaml:"stop_timeout" default:"15s" doc:"how long running activities may go on after a stop was asked for, up to 10m"`
	MaxActivities int           `yaml:"max_activities" default:"1000" doc:"activities that run at once, 1 to 100000"`
	MaxWorkflows  int           `yaml:"max_workflows" default:"2000" doc:"workflows that are kept in memory between their tasks, 10 to 1000000; others are read from their histories when they go on"`
	HealthListen  string        `yaml:"health_listen" default:"127.0.0.1:8235" doc:"address of /healthz, /readyz and /metrics"`
}

// Fleet says how often what runs is compared with what is wanted.
type Fleet struct {
	Interval time.Duration `yaml:"interval" default:"5m" doc:"between two comparisons of what is wanted with what runs, 5s to 24h"`
}

// Gateway is the settings of the gateway process.
type Gateway struct {
	Listen   string   `yaml:"listen" default:"127.0.0.1:8236" doc:"address of the REST API; one that is not loopback needs auth token and a token that may be used"`
	Auth     string   `yaml:"auth" default:"token" doc:"token: every request carries a token made by holdfast token create; none: whoever reaches it is owner, on loopback only"`
	Hosts    []string `yaml:"hosts" shown:"none" doc:"names under which it is reached beside this machine's own, without port, separated by commas"`
	Origins  []string `yaml:"origins" shown:"none" doc:"exact origins of web pages that may call it beside its own, separated by commas"`
	ReadOnly bool     `yaml:"read_only" default:"false" doc:"true refuses everything that would change something"`

	PublicURL string `yaml:"public_url" shown:"how each request reached it" doc:"scheme and host under which everybody reaches it, such as https://holdfast.example.com: for links, logins and the name of the MCP resource"`
}

// How the gateway tells who asks.
const (
	AuthToken = "token"
	AuthNone  = "none"
)

// Sources says where tools come from.
type Sources struct {
	File string `yaml:"file" shown:"none: there are no tools" doc:"JSON file of MCP servers, as an object mcpServers, whose tools the gateway offers"`
}

// Policy says which tool calls may be made.
type Policy struct {
	File string `yaml:"file" shown:"none: the tools' own annotations decide" doc:"YAML file of rules on tool calls; it is read again when it changes"`
}

// Codec is the settings of the endpoint at which the Temporal UI and CLI have payloads unsealed.
type Codec struct {
	Listen         string   `yaml:"listen" default:"127.0.0.1:8234" doc:"address of the codec endpoint; one that is not loopback needs a path secret"`
	PathSecret     Secret   `yaml:"path_secret" shown:"none" doc:"secret first part of the endpoint's path, at least 16 of A-Z a-z 0-9 - _"`
	PathSecretFile string   `yaml:"path_secret_file" shown:"none" doc:"file that holds the path secret"`
	Origins        []string `yaml:"origins" shown:"none" doc:"exact origins of Temporal UIs that may call it, separated by commas"`
}

// Log is how the process reports what it does.
type Log struct {
	Level  string `yaml:"level" default:"info" doc:"debug, info, warn or error"`
	Format string `yaml:"format" default:"text" doc:"text or json"`
}

// The formats of a log.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// SlogLevel is the level in the form that slog takes; Validate has refused any other text.
func (l Log) SlogLevel() slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		return slog.LevelInfo
	}
	return level
}

// derive fills in the settings whose default depends on another one.
func (c *Config) derive() {
	if c.Store.Path == "" && c.DataDir != "" {
		c.Store.Path = filepath.Join(c.DataDir, "holdfast.db")
	}
	if c.Keys.Dir == "" && c.DataDir != "" {
		c.Keys.Dir = filepath.Join(c.DataDir, "keys")
	}
}
