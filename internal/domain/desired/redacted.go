package desired

import (
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// Redacted is the form of a [Config] that may be shown. It is JSON-stable.
type Redacted struct {
	Type          string `json:"type"`
	URL           string `json:"url"`
	Enabled       *bool  `json:"enabled,omitempty"`
	TimeoutMillis int    `json:"timeout,omitempty"`
	// OAuth is false, true or "configured"; nil if the config says nothing.
	OAuth   any             `json:"oauth,omitempty"`
	Headers RedactedHeaders `json:"headers"`
}

// RedactedHeaders tells which headers are set, never their values.
type RedactedHeaders struct {
	Keys                 []string `json:"keys"`
	AuthorizationPresent bool     `json:"authorizationPresent"`
}

// Redacted drops header values, OAuth settings and the URL's user info and query.
func (c Config) Redacted() Redacted {
	r := Redacted{Type: typeRemote, URL: redactedURL(c.URL), TimeoutMillis: c.TimeoutMillis}
	if c.Enabled != nil {
		enabled := *c.Enabled
		r.Enabled = &enabled
	}
	switch oauth := string(c.OAuth); oauth {
	case "", "null":
	case "false":
		r.OAuth = false
	case "true":
		r.OAuth = true
	default:
		r.OAuth = "configured"
	}
	r.Headers.Keys = make([]string, 0, len(c.Headers))
	for name := range c.Headers {
		r.Headers.Keys = append(r.Headers.Keys, redact.String(name))
	}
	slices.Sort(r.Headers.Keys)
	r.Headers.AuthorizationPresent = authorized(c.Headers)
	return r
}

// redactedURL shows where the server is. A query of a generic endpoint often
// holds its key under any name, so none of it is shown.
func redactedURL(raw string) string {
	place, query, hasQuery := strings.Cut(raw, "?")
	place, _, _ = strings.Cut(place, "#")
	if hasQuery && query != "" {
		return redact.String(place) + "?" + redact.Marker
	}
	return redact.String(place)
}

// authorized reports whether an Authorization header with a value is there. Its
// scheme is not looked at: servers define their own.
func authorized(headers map[string]string) bool {
	for name, value := range headers {
		if strings.EqualFold(name, "authorization") && strings.TrimSpace(value) != "" {
			return true
		}
	}
	return false
}
