package tokensource

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/oauth2"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const (
	// DefaultTimeout bounds each request to a token server when [Options] name no timeout.
	DefaultTimeout = 10 * time.Second
	// maxToken is the longest token that is accepted, in bytes: it has to fit into a header.
	maxToken = 64 << 10
	// maxAnswer is the longest answer of a token server that is read, in bytes.
	maxAnswer = 1 << 20
)

// Source is where the tokens of one credential come from.
type Source interface {
	// Mint gets a token. Its errors are of type [*Error], or the context's. With one there may be a refresh token alone: it
	// has taken the place of the one before, and has to be kept.
	Mint(ctx context.Context, last Previous) (Minted, error)
}

// Previous is what an earlier mint left for the next one.
type Previous struct {
	// RefreshToken is the newest one; empty: the source's own.
	RefreshToken string
}

// String tells nothing: it is a secret.
func (Previous) String() string { return "tokensource.Previous{…}" }

// GoString is String.
func (p Previous) GoString() string { return p.String() }

// LogValue is String.
func (p Previous) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Minted is what a source gave.
type Minted struct {
	AccessToken string
	// RefreshToken is the one to use next; empty for sources without one.
	RefreshToken string
	// ExpiresAt is zero when nothing tells it.
	ExpiresAt time.Time
}

// String tells nothing: it is made of secrets.
func (Minted) String() string { return "tokensource.Minted{…}" }

// GoString is String.
func (m Minted) GoString() string { return m.String() }

// LogValue is String.
func (m Minted) LogValue() slog.Value { return slog.StringValue(m.String()) }

// Options configure [Sources]. The zero value is ready to use.
type Options struct {
	// Timeout bounds each request to a token server; 0 or less means [DefaultTimeout].
	Timeout time.Duration
	// Now dates expiries; nil means the system's clock.
	Now func() time.Time
	// LookupEnv reads a variable; nil means the process's environment.
	LookupEnv func(name string) (string, bool)
}

// Sources makes sources out of their descriptions. It is safe for concurrent use.
type Sources struct {
	timeout   time.Duration
	now       func() time.Time
	lookupEnv func(string) (string, bool)
	client    *httpclient.Client

	mu     sync.Mutex
	styles map[styleKey]oauth2.AuthStyle // what a token server took, where the description leaves it open
}

// NewSources makes the sources of a process.
func NewSources(o Options) *Sources {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	return &Sources{
		timeout: o.Timeout, now: o.Now, lookupEnv: o.LookupEnv, styles: make(map[styleKey]oauth2.AuthStyle),
		client: httpclient.New(httpclient.Options{Timeout: o.Timeout, MaxBody: maxAnswer}),
	}
}

// Close drops idle connections.
func (s *Sources) Close() { s.client.Close() }

// For is the source of a description. A literal has none: its token is never minted.
func (s *Sources) For(d desired.TokenSource) (Source, error) {
	if f := d.Validate(); f != nil {
		return nil, &Error{Failure: *f}
	}
	switch d.Kind {
	case desired.SourceEnv:
		return envSource{variable: d.Variable, from: placeOf(d), lookup: s.lookupEnv, now: s.now}, nil
	case desired.SourceFile:
		return fileSource{path: d.Path, from: placeOf(d), now: s.now}, nil
	case desired.SourceClientCredentials, desired.SourceRefreshToken:
		return s.newGrant(d)
	case desired.SourceLiteral:
		return nil, invalid("a literal token is not minted: it is sent as it is given")
	default:
		return nil, invalid("the token source is of no known kind")
	}
}

// usable checks that a token can be sent, and adds the expiry that it may tell itself.
func usable(token string, from place, now time.Time) (Minted, error) {
	switch {
	case token == "":
		return Minted{}, from.fault("holds no token")
	case len(token) > maxToken:
		return Minted{}, from.fault("holds more than a token, it is longer than 64 KiB")
	case !sendable(token):
		return Minted{}, from.fault("holds characters that a token cannot have")
	}
	return Minted{AccessToken: token, ExpiresAt: expiryHint(token, now)}, nil
}

// sendable tells whether a token can stand in a header behind its scheme.
func sendable(token string) bool {
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return false
		}
	}
	return httpguts.ValidHeaderFieldValue(token)
}

// invalid is the failure of a source that yields no usable token.
func invalid(cause string) *Error {
	return &Error{Failure: health.TokenSourceInvalid(cause)}
}
