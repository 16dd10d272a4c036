package desired_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

func clientCredentials() desired.TokenSource {
	return desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: "https://auth.example/token?k=url-s3cr3t", ClientID: "client",
		ClientSecret: "client-s3cr3t", Scopes: []string{"mcp:read", "mcp:write"}, Audience: "aud", Resource: "https://mcp.example",
		AuthStyle: desired.AuthStyleParams, MarginSeconds: 60,
	}
}

func refreshToken() desired.TokenSource {
	return desired.TokenSource{
		Kind: desired.SourceRefreshToken, TokenURL: "http://127.0.0.1:9/token", ClientID: "client", RefreshToken: "refresh-s3cr3t",
	}
}

func TestTokenSourcesThatWork(t *testing.T) {
	t.Parallel()
	public := clientCredentials()
	public.Kind, public.RefreshToken = desired.SourceRefreshToken, "first"
	for _, tc := range []struct {
		name   string
		source *desired.TokenSource
		mints  bool
	}{
		{"none", nil, false},
		{"literal", &desired.TokenSource{Kind: desired.SourceLiteral, Value: "abc.DEF-_~+/="}, false},
		{"env", &desired.TokenSource{Kind: desired.SourceEnv, Variable: "MCP_TOKEN_2", MarginSeconds: 1}, true},
		{"file", &desired.TokenSource{Kind: desired.SourceFile, Path: "/run/secrets/mcp token"}, true},
		{"client credentials", new(clientCredentials()), true},
		{"refresh token of a public client", new(refreshToken()), true},
		{"refresh token with everything", &public, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Nil(t, tc.source.Validate())
			require.Equal(t, tc.mints, tc.source.Mints())
		})
	}
}

func TestATokenSourceThatBreaksARuleIsNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, says string
		change     func(s *desired.TokenSource)
	}{
		{"no kind", "kind must be", func(s *desired.TokenSource) { s.Kind = "" }},
		{"another kind", "kind must be", func(s *desired.TokenSource) { s.Kind = "x-s3cr3t" }},
		{"literal without a value", "kind literal needs value", only(desired.TokenSource{Kind: desired.SourceLiteral})},
		{"blank literal", "kind literal needs value", only(desired.TokenSource{Kind: desired.SourceLiteral, Value: " "})},
		{"literal with its scheme", "without a scheme", only(desired.TokenSource{Kind: desired.SourceLiteral, Value: "Bearer s3cr3t"})},
		{"literal with a line break", "visible ASCII", only(desired.TokenSource{Kind: desired.SourceLiteral, Value: "s3cr3t\n"})},
		{"literal that is too long", "longer than", only(desired.TokenSource{Kind: desired.SourceLiteral, Value: strings.Repeat("x", 33<<10)})},
		{"env without a variable", "kind env needs variable", only(desired.TokenSource{Kind: desired.SourceEnv})},
		{"env with a value as name", "variable must be", only(desired.TokenSource{Kind: desired.SourceEnv, Variable: "s3cr3t=1"})},
		{"file without a path", "kind file needs path", only(desired.TokenSource{Kind: desired.SourceFile})},
		{"relative file", "path must be absolute", only(desired.TokenSource{Kind: desired.SourceFile, Path: "s3cr3t/token"})},
		{"what another kind needs", "kind file has no variable", only(desired.TokenSource{Kind: desired.SourceFile, Path: "/x", Variable: "s3cr3t"})},
		{"secret that is of no use", "kind env has no clientSecret", only(desired.TokenSource{Kind: desired.SourceEnv, Variable: "X", ClientSecret: "s3cr3t"})},
		{"refresh token without a grant for it", "has no refreshToken", func(s *desired.TokenSource) { s.RefreshToken = "s3cr3t" }},
		{"no token endpoint", "needs tokenUrl", func(s *desired.TokenSource) { s.TokenURL = "" }},
		{"relative token endpoint", "tokenUrl must be absolute", func(s *desired.TokenSource) { s.TokenURL = "/s3cr3t" }},
		{"token endpoint with a password", "tokenUrl must not have user info", func(s *desired.TokenSource) { s.TokenURL = "https://u:s3cr3t@x/" }},
		{"token endpoint with a fragment", "tokenUrl must not have a fragment", func(s *desired.TokenSource) { s.TokenURL = "https://x/#s3cr3t" }},
		{"endless token endpoint", "tokenUrl is longer", func(s *desired.TokenSource) { s.TokenURL = "https://x/" + strings.Repeat("x", 9<<10) }},
		{"no client", "needs clientId", func(s *desired.TokenSource) { s.ClientID = "" }},
		{"no secret", "needs clientSecret", func(s *desired.TokenSource) { s.ClientSecret = "" }},
		{"two scopes in one", "every scope", func(s *desired.TokenSource) { s.Scopes = []string{"s3cr3t b"} }},
		{"empty scope", "every scope", func(s *desired.TokenSource) { s.Scopes = []string{"a", ""} }},
		{"another style", "authStyle must be", func(s *desired.TokenSource) { s.AuthStyle = "s3cr3t" }},
		{"margin before the expiry", "marginSeconds must be", func(s *desired.TokenSource) { s.MarginSeconds = -1 }},
		{"endless margin", "marginSeconds must be", func(s *desired.TokenSource) { s.MarginSeconds = 30*24*3600 + 1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := clientCredentials()
			tc.change(&s)
			f := s.Validate()
			require.NotNil(t, f)
			require.Equal(t, health.CodeTokenSourceInvalid, f.Code)
			require.Equal(t, health.StageTokenMint, f.Stage)
			require.False(t, f.Retryable)
			text, err := json.Marshal(f)
			require.NoError(t, err)
			require.Contains(t, string(text), tc.says)
			require.NotContains(t, string(text), "s3cr3t")
		})
	}
}

func only(source desired.TokenSource) func(s *desired.TokenSource) {
	return func(s *desired.TokenSource) { *s = source }
}

func TestATokenSourceIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		source desired.TokenSource
		want   string
	}{
		{desired.TokenSource{Kind: desired.SourceLiteral, Value: "value-s3cr3t"}, `{"kind":"literal"}`},
		{desired.TokenSource{Kind: desired.SourceEnv, Variable: "TOKEN"}, `{"kind":"env","variable":"TOKEN"}`},
		{desired.TokenSource{Kind: desired.SourceFile, Path: "/run/t"}, `{"kind":"file","path":"/run/t"}`},
		{clientCredentials(), `{"kind":"client_credentials","tokenUrl":"https://auth.example/token?[REDACTED]","clientId":"client","scopes":["mcp:read","mcp:write"]}`},
		{refreshToken(), `{"kind":"refresh_token","tokenUrl":"http://127.0.0.1:9/token","clientId":"client"}`},
	} {
		t.Run(string(tc.source.Kind), func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(tc.source.Redacted())
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(text))

			var logged bytes.Buffer
			logger := slog.New(slog.NewJSONHandler(&logged, nil))
			logger.Info("x", "value", tc.source, "pointer", &tc.source)
			shown := fmt.Sprintf("%v %+v %#v %s %v", tc.source, tc.source, tc.source, &tc.source, []desired.TokenSource{tc.source})
			require.NotContains(t, shown+logged.String(), "s3cr3t")
			require.Contains(t, shown, string(tc.source.Kind))
		})
	}
	var none *desired.TokenSource
	require.Nil(t, none.Redacted())
}

func TestTheRevisionHasAllOfTheTokenSource(t *testing.T) {
	t.Parallel()
	with := func(s *desired.TokenSource) string {
		r, err := desired.RevisionWith(keyedHash("key"), desired.ProfileGeneric, validConfig(), desired.DefaultMetadata(), s)
		require.NoError(t, err)
		return r
	}
	without, err := desired.Revision(keyedHash("key"), desired.ProfileGeneric, validConfig(), desired.DefaultMetadata())
	require.NoError(t, err)
	require.Equal(t, "7b915cd2500164d14465297c8251d3bdda4983698b16e2d64c67c89541937015", without, "revisions are stored: they must not change with a release")
	require.Equal(t, without, with(nil))

	everything := clientCredentials()
	everything.Kind, everything.RefreshToken = desired.SourceRefreshToken, "first"
	seen := map[string]string{without: "no source", with(&everything): "as it is"}
	for _, tc := range []struct {
		name   string
		change func(s *desired.TokenSource)
	}{
		{"kind", func(s *desired.TokenSource) { s.Kind = desired.SourceClientCredentials }},
		{"value", func(s *desired.TokenSource) { s.Value = "x" }},
		{"variable", func(s *desired.TokenSource) { s.Variable = "x" }},
		{"path", func(s *desired.TokenSource) { s.Path = "x" }},
		{"token endpoint", func(s *desired.TokenSource) { s.TokenURL = "https://other/token" }},
		{"client", func(s *desired.TokenSource) { s.ClientID = "x" }},
		{"client secret", func(s *desired.TokenSource) { s.ClientSecret = "x" }},
		{"scopes", func(s *desired.TokenSource) { s.Scopes = s.Scopes[:1] }},
		{"audience", func(s *desired.TokenSource) { s.Audience = "x" }},
		{"resource", func(s *desired.TokenSource) { s.Resource = "x" }},
		{"style", func(s *desired.TokenSource) { s.AuthStyle = "" }},
		{"refresh token", func(s *desired.TokenSource) { s.RefreshToken = "x" }},
		{"margin", func(s *desired.TokenSource) { s.MarginSeconds = 1 }},
	} {
		changed := everything
		tc.change(&changed)
		r := with(&changed)
		require.NotContains(t, seen, r, tc.name)
		seen[r] = tc.name
	}
	respelt := everything
	respelt.TokenURL = strings.Replace(everything.TokenURL, "https://auth.example/", "HTTPS://Auth.Example:443/./", 1)
	require.Equal(t, "as it is", seen[with(&respelt)])
	require.Contains(t, respelt.TokenURL, "HTTPS", "the source is left as it was given")
}

func TestATokenSourceIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := clientCredentials()
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got desired.TokenSource
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
}
