package auth_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/keys"
)

func newKeys(t *testing.T) *keys.Keys {
	t.Helper()
	keyset, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	return keyset
}

func visiting(t *testing.T, cookies ...*http.Cookie) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/approvals", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func TestALoginByATokenEndsWithTheToken(t *testing.T) {
	t.Parallel()
	tokens, kept, now := open(t)
	sessions := auth.NewSessions(newKeys(t).AEAD(), auth.Sources{Tokens: tokens}, false, now.Now)
	text, row := make1(t, tokens, auth.Request{Name: "me", Role: auth.RoleOwner})
	cookie, err := sessions.ByToken(t.Context(), text)
	require.NoError(t, err)
	require.True(t, cookie.HttpOnly)
	require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
	require.NotContains(t, cookie.Value, text)
	found, err := sessions.Read(t.Context(), visiting(t, cookie))
	require.NoError(t, err)
	require.Equal(t, "token:"+row.ID, found.Principal.ID)
	require.NotEmpty(t, found.Guard)

	kept.fault = errInside
	_, err = sessions.Read(t.Context(), visiting(t, cookie))
	var down *auth.UnavailableError
	require.ErrorAs(t, err, &down)
	kept.fault = nil
	require.NoError(t, tokens.Revoke(t.Context(), row.ID))
	_, err = sessions.Read(t.Context(), visiting(t, cookie))
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	_, err = sessions.ByToken(t.Context(), text)
	require.ErrorIs(t, err, auth.ErrUnauthorized)
}

var errInside = http.ErrHandlerTimeout

func TestALoginLastsForATimeAndIsReadOnlyWithTheSameKeys(t *testing.T) {
	t.Parallel()
	tokens, _, now := open(t)
	keyset := newKeys(t)
	sessions := auth.NewSessions(keyset.AEAD(), auth.Sources{Tokens: tokens}, true, now.Now)
	text, _ := make1(t, tokens, auth.Request{Name: "me", Role: auth.RoleViewer})
	cookie, err := sessions.ByToken(t.Context(), text)
	require.NoError(t, err)
	require.True(t, cookie.Secure)
	require.Equal(t, "__Host-holdfast_session", cookie.Name)
	_, err = auth.NewSessions(keyset.AEAD(), auth.Sources{Tokens: tokens}, true, now.Now).Read(t.Context(), visiting(t, cookie))
	require.NoError(t, err, "another gateway reads it")
	_, err = auth.NewSessions(newKeys(t).AEAD(), auth.Sources{Tokens: tokens}, true, now.Now).Read(t.Context(), visiting(t, cookie))
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	other, err := sessions.Seal("holdfast_session", "another use", map[string]string{"token": "x", "guard": "x"}, time.Hour)
	require.NoError(t, err)
	for name, c := range map[string]*http.Cookie{
		"cut": {Name: cookie.Name, Value: cookie.Value[:len(cookie.Value)-2]}, "empty": {Name: cookie.Name},
		"no base64": {Name: cookie.Name, Value: "!"}, "of another use": other, "of another name": {Name: "holdfast_session", Value: cookie.Value},
	} {
		_, err := sessions.Read(t.Context(), visiting(t, c))
		require.ErrorIs(t, err, auth.ErrUnauthorized, name)
	}
	now.Advance(auth.SessionAge)
	_, err = sessions.Read(t.Context(), visiting(t, cookie))
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	require.Negative(t, sessions.Out().MaxAge)
}

func TestALoginByTheProviderHasTheRoleThatTheSettingsGiveNow(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	tokens, _, _ := open(t)
	keyset := newKeys(t)
	with := func(changes ...func(*auth.ProviderOptions)) *auth.Sessions {
		return auth.NewSessions(keyset.AEAD(), auth.Sources{Tokens: tokens, Provider: newProvider(t, issuer.Issuer(), changes...)}, false, nil)
	}
	address, login, err := newProvider(t, issuer.Issuer()).Begin(t.Context(), "http://127.0.0.1/login/callback", "/")
	require.NoError(t, err)
	claims, err := newProvider(t, issuer.Issuer()).Finish(t.Context(), login, follow(t, address))
	require.NoError(t, err)
	cookie, err := with().ByClaims(claims)
	require.NoError(t, err)
	found, err := with().Read(t.Context(), visiting(t, cookie))
	require.NoError(t, err)
	require.Equal(t, auth.RoleOwner, found.Principal.Role)
	found, err = with(func(o *auth.ProviderOptions) { delete(o.Roles, "admins") }).Read(t.Context(), visiting(t, cookie))
	require.NoError(t, err)
	require.Equal(t, auth.RoleViewer, found.Principal.Role)
	_, err = with(func(o *auth.ProviderOptions) { o.Organisations = []string{"other"} }).Read(t.Context(), visiting(t, cookie))
	var denied *auth.ForbiddenError
	require.ErrorAs(t, err, &denied)
	_, err = with(func(o *auth.ProviderOptions) { o.Issuer = "https://other.example" }).Read(t.Context(), visiting(t, cookie))
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	_, err = auth.NewSessions(keyset.AEAD(), auth.Sources{Tokens: tokens}, false, nil).Read(t.Context(), visiting(t, cookie))
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	claims.Roles = nil
	_, err = with().ByClaims(claims)
	require.ErrorAs(t, err, &denied)
}

func TestPagesMayAskWithTheirLoginWhereNoTokenIsShown(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	sources := auth.Sources{Tokens: tokens}
	sources.Sessions = auth.NewSessions(newKeys(t).AEAD(), sources, false, nil)
	both := auth.NewAuthenticator(sources)
	text, _ := make1(t, tokens, auth.Request{Name: "me", Role: auth.RoleViewer})
	cookie, err := sources.Sessions.ByToken(t.Context(), text)
	require.NoError(t, err)
	r := visiting(t, cookie)
	who, session, err := both.Browser(t.Context(), r)
	require.NoError(t, err)
	require.True(t, session)
	require.Equal(t, "me", who.Name)
	_, err = both.Authenticate(t.Context(), r)
	require.ErrorIs(t, err, auth.ErrUnauthorized, "what only takes tokens takes no cookie")
	r.Header.Set("Authorization", "Bearer x")
	_, session, err = both.Browser(t.Context(), r)
	require.ErrorIs(t, err, auth.ErrUnauthorized, "a token that is wrong is not made good by a cookie")
	require.False(t, session)
}
