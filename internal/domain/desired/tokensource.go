package desired

import (
	"log/slog"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// SourceKind is a way to come by the token of an MCP server.
type SourceKind string

// Kinds of token sources.
const (
	// SourceLiteral is a token that was given as it is.
	SourceLiteral SourceKind = "literal"
	// SourceEnv is an environment variable of the worker.
	SourceEnv SourceKind = "env"
	// SourceFile is a file that the worker reads.
	SourceFile SourceKind = "file"
	// SourceClientCredentials is the OAuth 2.0 grant of that name.
	SourceClientCredentials SourceKind = "client_credentials"
	// SourceRefreshToken is the OAuth 2.0 grant of that name.
	SourceRefreshToken SourceKind = "refresh_token"
)

// Values of [TokenSource.AuthStyle] beside "", which finds it out.
const (
	AuthStyleHeader = "header"
	AuthStyleParams = "params"
)

// TokenSource tells where the token of a desired config comes from. Without one
// the headers are sent as given. It holds secrets in clear: show only its
// [TokenSource.Redacted] form.
type TokenSource struct {
	Kind SourceKind `json:"kind"`
	// Value is the token itself; literal.
	Value string `json:"value,omitempty"`
	// Variable is the name of a variable in the worker's environment; env.
	Variable string `json:"variable,omitempty"`
	// Path is absolute and read by the worker; file.
	Path string `json:"path,omitempty"`

	// TokenURL is the OAuth 2.0 token endpoint; this and all below is for the
	// two grants.
	TokenURL     string   `json:"tokenUrl,omitempty"`
	ClientID     string   `json:"clientId,omitempty"`
	ClientSecret string   `json:"clientSecret,omitempty"`
	Scopes       []string `json:"scopes,omitempty"`
	Audience     string   `json:"audience,omitempty"`
	Resource     string   `json:"resource,omitempty"`
	// AuthStyle is "" to find it out, [AuthStyleHeader] or [AuthStyleParams].
	AuthStyle string `json:"authStyle,omitempty"`
	// RefreshToken is the first one; the ones it is exchanged for live in the store.
	RefreshToken string `json:"refreshToken,omitempty"`

	// MarginSeconds is how long before its expiry a token is renewed; 0 is the
	// smaller of 24 h and a quarter of its lifetime.
	MarginSeconds int `json:"marginSeconds,omitempty"`
}

// Mints reports whether the source has to be asked for a token.
func (s *TokenSource) Mints() bool {
	return s != nil && s.Kind != SourceLiteral
}

// RedactedTokenSource is the form of a [TokenSource] that may be shown. It is
// JSON-stable.
type RedactedTokenSource struct {
	Kind     SourceKind `json:"kind"`
	Variable string     `json:"variable,omitempty"`
	Path     string     `json:"path,omitempty"`
	TokenURL string     `json:"tokenUrl,omitempty"`
	ClientID string     `json:"clientId,omitempty"`
	Scopes   []string   `json:"scopes,omitempty"`
}

// Redacted drops the secrets; nil if there is no source.
func (s *TokenSource) Redacted() *RedactedTokenSource {
	if s == nil {
		return nil
	}
	r := RedactedTokenSource{
		Kind: SourceKind(redact.String(string(s.Kind))), Variable: redact.String(s.Variable), Path: redact.String(s.Path),
		TokenURL: redactedURL(s.TokenURL), ClientID: redact.String(s.ClientID),
	}
	for _, scope := range s.Scopes {
		r.Scopes = append(r.Scopes, redact.String(scope))
	}
	return &r
}

// String keeps the source's secrets out of logs and error texts.
func (s TokenSource) String() string {
	return "token source " + redact.String(string(s.Kind)) + " (redacted)"
}

// GoString is [TokenSource.String] for %#v.
func (s TokenSource) GoString() string {
	return s.String()
}

// LogValue is the redacted form: JSON log handlers do not look at String.
func (s TokenSource) LogValue() slog.Value {
	return slog.AnyValue(s.Redacted())
}

// normal gives one endpoint one name. The source itself is left as it is.
func (s *TokenSource) normal() *TokenSource {
	if s == nil {
		return nil
	}
	same := *s
	same.Scopes = slices.Clone(s.Scopes)
	if url, err := NormaliseURL(ProfileGeneric, s.TokenURL); err == nil {
		same.TokenURL = url
	}
	return &same
}
