package desired

import (
	"encoding/json"
	"log/slog"
	"maps"
	"time"
)

// Profile is a set of rules for desired configs.
type Profile string

// Profiles.
const (
	// ProfileOpenWork has the strict rules of the OpenWork Cloud server.
	ProfileOpenWork Profile = "openwork"
	// ProfileGeneric takes any remote MCP server.
	ProfileGeneric Profile = "generic"
)

// Valid reports whether p is a known profile.
func (p Profile) Valid() bool {
	return p == ProfileOpenWork || p == ProfileGeneric
}

// Bounds of [Config.TimeoutMillis].
const (
	DefaultTimeout = 5 * time.Second
	MaxTimeout     = 10 * time.Minute
)

const typeRemote = "remote"

// Config is the desired config of one MCP server. It is made by [Normalise] and
// holds secrets in clear: show only its [Config.Redacted] form.
type Config struct {
	Type    string            `json:"type"`
	URL     string            `json:"url,omitempty"`
	Enabled *bool             `json:"enabled,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// OAuth is absent, false or an object, in canonical form.
	OAuth json.RawMessage `json:"oauth,omitempty"`
	// TimeoutMillis bounds connecting, listing and each tool call; 0 is unset.
	TimeoutMillis int `json:"timeout,omitempty"`
}

// Timeout is the time limit that a delivery sends: [DefaultTimeout] if unset.
func (c Config) Timeout() time.Duration {
	if c.TimeoutMillis <= 0 {
		return DefaultTimeout
	}
	return time.Duration(c.TimeoutMillis) * time.Millisecond
}

// EngineConfig is the config to register with an engine. It always has a
// timeout: without one an engine holds a registration for a minute.
func (c Config) EngineConfig() map[string]any {
	config := map[string]any{
		"type":    typeRemote,
		"url":     c.URL,
		"timeout": int(c.Timeout() / time.Millisecond),
	}
	if c.Enabled != nil {
		config["enabled"] = *c.Enabled
	}
	if len(c.Headers) > 0 {
		config["headers"] = maps.Clone(c.Headers)
	}
	if len(c.OAuth) > 0 {
		config["oauth"] = c.OAuth
	}
	return config
}

// String keeps the config's secrets out of logs and error texts.
func (c Config) String() string {
	return "desired config (redacted)"
}

// GoString is [Config.String] for %#v.
func (c Config) GoString() string {
	return c.String()
}

// LogValue is the redacted form: JSON log handlers do not look at String.
func (c Config) LogValue() slog.Value {
	return slog.AnyValue(c.Redacted())
}
