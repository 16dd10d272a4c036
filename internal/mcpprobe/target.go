package mcpprobe

import (
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// DefaultRequestTimeout bounds one request, body included, when a target names no timeout.
	DefaultRequestTimeout = 5 * time.Second

	// overallRequests is how many request timeouts all requests of a probe may take together: a canary that is asked
	// twice, a handshake of two, a first page, and one more for further pages.
	overallRequests = 6
	// maxClosing bounds the DELETE that ends a session; it comes on top of the overall bound.
	maxClosing = 2 * time.Second
	// maxAnswerBytes bounds all answers of a probe together.
	maxAnswerBytes = 8 << 20
	// maxPages bounds the pages of one tools/list.
	maxPages = 64
	// maxRequests bounds the HTTP requests of a probe, answers to a chatty server's own requests included.
	maxRequests = 2*maxPages + 32
)

// Target is an endpoint to probe. URL and Headers are secrets: they may carry credentials.
type Target struct {
	// URL is the endpoint, http or https, without user info.
	URL string
	// Headers are sent as configured with every request. Those that the protocol owns (content-type, accept, the
	// session's) are left out.
	Headers map[string]string
	// RequestTimeout bounds each request from dialling to the last byte; 0 means [DefaultRequestTimeout].
	RequestTimeout time.Duration
	// Expected are the names of the tools that must be listed; empty means at least one tool, whatever its name.
	Expected []string
	// Canary is the session that an earlier probe kept; nil means a session of its own.
	Canary *Session
	// KeepSession leaves the session open and returns it; otherwise it is ended with DELETE.
	KeepSession bool
}

// Bound is the longest that [Probe] takes with the given request timeout (0 means [DefaultRequestTimeout]): six times
// that for all requests, and at most two seconds to end each session: its own and the canary's.
func Bound(requestTimeout time.Duration) time.Duration {
	timeout := orDefault(requestTimeout)
	return overallRequests*timeout + 2*closing(timeout)
}

// String tells nothing: a target is made of secrets.
func (Target) String() string { return "mcpprobe.Target{…}" }

// GoString is String.
func (t Target) GoString() string { return t.String() }

// LogValue is String.
func (t Target) LogValue() slog.Value { return slog.StringValue(t.String()) }

// Session is a session at an endpoint, for a later probe. ID is a secret.
type Session struct {
	ID              string `json:"id"`
	ProtocolVersion string `json:"protocolVersion"`
	ServerName      string `json:"serverName"`
	ServerVersion   string `json:"serverVersion"`
}

// String leaves the id out.
func (s Session) String() string {
	return "mcpprobe.Session{" + s.ServerName + " " + s.ServerVersion + ", " + s.ProtocolVersion + "}"
}

// GoString is String.
func (s Session) GoString() string { return s.String() }

// LogValue is String.
func (s Session) LogValue() slog.Value { return slog.StringValue(s.String()) }

func orDefault(timeout time.Duration) time.Duration {
	if timeout <= 0 {
		return DefaultRequestTimeout
	}
	return timeout
}

func closing(timeout time.Duration) time.Duration { return min(timeout, maxClosing) }

// endpoint parses the target's URL, or returns nil when nothing can be sent to it.
func (t Target) endpoint() *url.URL {
	u, err := url.Parse(t.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	return u
}

func (t Target) validHeaders() bool {
	for name, value := range t.Headers {
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return false
		}
	}
	return true
}

// header is what is sent with every request, in a fixed order, so that names which differ in case only give the same
// header each time.
func (t Target) header() http.Header {
	header := make(http.Header, len(t.Headers)+1)
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if !protocolOwned(name) {
			header.Set(name, t.Headers[name])
		}
	}
	if _, set := header["User-Agent"]; !set {
		header.Set("User-Agent", clientName+"/"+clientVersion)
	}
	return header
}

// protocolOwned tells which headers a configuration cannot set: the SDK and net/http need their own values.
func protocolOwned(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Te",
		"Trailer", "Upgrade", headerSession, headerVersion, headerLastEvent:
		return true
	default:
		return false
	}
}
