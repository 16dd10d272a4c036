package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/origin"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

// newLoginRig is a rig with an identity provider and logins of pages.
func newLoginRig(t *testing.T) (*rig, *simulator.OIDCProvider, *auth.Sessions) {
	t.Helper()
	issuer, err := simulator.NewOIDCProvider(simulator.OIDCOptions{Users: map[string]map[string]any{
		"ann": {"groups": []string{"admins"}}, "out": {},
	}})
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	var sessions *auth.Sessions
	r := newRig(t, func(p *api.Params) {
		keyset, err := sharedKeys()
		require.NoError(t, err)
		provider := auth.NewProvider(auth.ProviderOptions{
			Issuer: issuer.Issuer(), Audience: []string{"gateway"}, RolesClaim: "groups", Roles: map[string]auth.Role{"admins": auth.RoleOwner},
		})
		t.Cleanup(provider.Close)
		sources := auth.Sources{Tokens: p.Tokens, Provider: provider}
		sources.Sessions = auth.NewSessions(keyset.AEAD(), sources, false, nil)
		sessions, p.Auth = sources.Sessions, auth.NewAuthenticator(sources)
		p.Metadata = auth.NewMetadata(origin.Policy{}, issuer.Issuer(), []string{"openid"})
	})
	return r, issuer, sessions
}

func TestTokensOfTheIdentityProviderAreTakenBesideThoseMadeHere(t *testing.T) {
	t.Parallel()
	r, issuer, _ := newLoginRig(t)
	ask := func(user, audience string) answer {
		token, err := issuer.Mint(user, audience, nil)
		require.NoError(t, err)
		return r.do(request{method: http.MethodGet, path: "/api/v1/tokens", header: map[string]string{"Authorization": "Bearer " + token}})
	}
	issuer.Inject(simulator.RouteDiscovery, 1, simulator.AnswerStatus(http.StatusBadGateway))
	down := ask("ann", "gateway")
	down.requireError(http.StatusServiceUnavailable, "identity_provider_unavailable")
	require.NotEmpty(t, down.header.Get("Retry-After"))
	r.get("/api/v1/tokens").requireOK() // those made here need no provider

	r2, issuer2, _ := newLoginRig(t)
	r, issuer = r2, issuer2
	ask("ann", "gateway").requireOK()
	ask("out", "gateway").requireError(http.StatusForbidden, "forbidden")
	wrong := ask("ann", "another")
	wrong.requireError(http.StatusUnauthorized, "unauthorized")
	require.Contains(t, wrong.header.Get("WWW-Authenticate"), `error="invalid_token"`)
	none := r.do(request{method: http.MethodGet, path: "/api/v1/tokens"})
	none.requireError(http.StatusUnauthorized, "unauthorized")
	require.NotContains(t, none.header.Get("WWW-Authenticate"), "error")
	require.Contains(t, none.header.Get("WWW-Authenticate"), `resource_metadata="http://`)
}

func TestALoginOfAPageReadsAndChangesOnlyForOurOwnPages(t *testing.T) {
	t.Parallel()
	r, _, sessions := newLoginRig(t)
	cookie, err := sessions.ByToken(t.Context(), r.tokens[auth.RoleOwner])
	require.NoError(t, err)
	ask := func(method string, header map[string]string) answer {
		all := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
		for name, value := range header {
			all[name] = value
		}
		q := request{method: method, path: "/api/v1/tokens", header: all}
		if method == http.MethodPost {
			q.body = bodies["createToken"]
		}
		return r.do(q)
	}
	ask(http.MethodGet, nil).requireOK()
	ask(http.MethodPost, nil).requireError(http.StatusForbidden, "forbidden")
	ask(http.MethodPost, map[string]string{"Sec-Fetch-Site": "cross-site"}).requireError(http.StatusForbidden, "forbidden")
	require.Equal(t, http.StatusCreated, ask(http.MethodPost, map[string]string{"Origin": r.server.URL}).status)
	ask(http.MethodGet, map[string]string{"Authorization": "Bearer x"}).requireError(http.StatusUnauthorized, "unauthorized")
}
