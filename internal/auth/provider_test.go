package auth_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

const resource = "https://holdfast.example/mcp"

func newIssuer(t *testing.T) *simulator.OIDCProvider {
	t.Helper()
	issuer, err := simulator.NewOIDCProvider(simulator.OIDCOptions{
		Users: map[string]map[string]any{
			"ann": {"name": "Ann Example", "org": map[string]any{"id": "acme"}, "groups": []string{"staff", "admins"}},
			"bob": {"email": "bob@example.com", "org": map[string]any{"id": "acme"}, "groups": "staff other"},
			"eve": {"org": map[string]any{"id": "evil"}, "groups": []string{"admins"}},
			"out": {"org": map[string]any{"id": "acme"}},
		},
		User: "ann",
	})
	require.NoError(t, err)
	t.Cleanup(issuer.Close)
	return issuer
}

func newProvider(t *testing.T, issuer string, changes ...func(*auth.ProviderOptions)) *auth.Provider {
	t.Helper()
	o := auth.ProviderOptions{
		Issuer: issuer, Audience: []string{"other", resource}, OrganisationClaim: "org.id", Organisations: []string{"acme"},
		RolesClaim: "groups", Roles: map[string]auth.Role{"staff": auth.RoleViewer, "admins": auth.RoleOwner},
		ClientID: "holdfast", Scopes: []string{"openid"}, Timeout: 30 * time.Second,
	}
	for _, c := range changes {
		c(&o)
	}
	provider := auth.NewProvider(o)
	t.Cleanup(provider.Close)
	return provider
}

func mint(t *testing.T, issuer *simulator.OIDCProvider, user string, more map[string]any) string {
	t.Helper()
	token, err := issuer.Mint(user, resource, more)
	require.NoError(t, err)
	return token
}

// asking makes a request with a token.
func asking(t *testing.T, token string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, resource, nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestTokensOfBothKindsLetTheirOwnersIn(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	tokens, _, _ := open(t)
	both := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Provider: newProvider(t, issuer.Issuer())})
	ann, err := both.Authenticate(t.Context(), asking(t, mint(t, issuer, "ann", nil)))
	require.NoError(t, err)
	require.Equal(t, auth.Principal{
		ID: "oidc:ann", Name: "Ann Example", Role: auth.RoleOwner, Identity: approval.Identity{Account: "ann", Organisation: "acme"},
	}, ann)
	bob, err := both.Authenticate(t.Context(), asking(t, mint(t, issuer, "bob", map[string]any{"aud": []string{"x", resource}})))
	require.NoError(t, err)
	require.Equal(t, auth.RoleViewer, bob.Role)
	require.Equal(t, "bob@example.com", bob.Name)
	secret, row := make1(t, tokens, auth.Request{Name: "ci", Role: auth.RoleCollaborator})
	ci, err := both.Authenticate(t.Context(), asking(t, secret))
	require.NoError(t, err)
	require.Equal(t, "token:"+row.ID, ci.ID)
	require.Equal(t, 1, issuer.Count(simulator.RouteKeys), "the keys are asked for once")
}

func TestWhatIsWrongWithATokenOfTheProviderIsSaidInWords(t *testing.T) {
	t.Parallel()
	issuer, other := newIssuer(t), newIssuer(t)
	tokens, _, _ := open(t)
	both := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Provider: newProvider(t, issuer.Issuer())})
	good := mint(t, issuer, "ann", nil)
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	for name, tc := range map[string]struct{ token, says string }{
		"another audience":    {mint(t, issuer, "ann", map[string]any{"aud": "https://elsewhere.example"}), "another audience"},
		"no audience":         {mint(t, issuer, "ann", map[string]any{"aud": nil}), "another audience"},
		"for the login":       {mint(t, issuer, "ann", map[string]any{"aud": "holdfast"}), "another audience"},
		"expired":             {mint(t, issuer, "ann", map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), "expired"},
		"without an end":      {mint(t, issuer, "ann", map[string]any{"exp": nil}), "expired"},
		"not yet":             {mint(t, issuer, "ann", map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "time is not valid"},
		"another issuer":      {mint(t, issuer, "ann", map[string]any{"iss": other.Issuer()}), "issuer"},
		"another signer":      {mint(t, other, "ann", map[string]any{"iss": issuer.Issuer()}), "signature"},
		"unsigned":            {none + "." + body + ".", "neither"},
		"signature cut":       {head + "." + body + "." + signature[:len(signature)-4], "signature"},
		"signed with secrets": {symmetric(t, issuer.Issuer()), "neither"},
		"opaque":              {"opaque-text", "neither"},
		"far too long":        {strings.Repeat("x", 40<<10), "too long"},
	} {
		_, err := both.Authenticate(t.Context(), asking(t, tc.token))
		var wrong *auth.UnauthorizedError
		require.ErrorAs(t, err, &wrong, name)
		require.ErrorIs(t, err, auth.ErrUnauthorized, name)
		require.True(t, wrong.Shown(), name)
		require.Contains(t, wrong.Problem, tc.says, name)
		require.NotContains(t, wrong.Problem, "elsewhere", "claims are not quoted")
	}
	require.LessOrEqual(t, issuer.Count(simulator.RouteKeys), 2, "unknown keys do not make us ask for each token")
}

// symmetric is a token whose signature needs only what everybody knows.
func symmetric(t *testing.T, issuer string) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"iss": issuer, "aud": resource, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix()})
	require.NoError(t, err)
	object, err := signer.Sign(raw)
	require.NoError(t, err)
	text, err := object.CompactSerialize()
	require.NoError(t, err)
	return text
}

func TestWhoIsKnownAndMayNotComeInIsTold(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	tokens, _, _ := open(t)
	both := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Provider: newProvider(t, issuer.Issuer())})
	for name, tc := range map[string]struct {
		user string
		more map[string]any
		code string
	}{
		"no role":                    {"out", nil, "no_role"},
		"wrong organisation":         {"eve", nil, "wrong_organisation"},
		"no organisation":            {"ann", map[string]any{"org": nil}, "no_organisation"},
		"no account":                 {"ann", map[string]any{"sub": nil}, "no_account"},
		"the account of a token":     {"ann", map[string]any{"sub": "token:0000000000000000"}, "no_account"},
		"the account of nobody":      {"ann", map[string]any{"sub": "local"}, "no_account"},
		"an account with a new line": {"ann", map[string]any{"sub": "a\nb"}, "no_account"},
	} {
		_, err := both.Authenticate(t.Context(), asking(t, mint(t, issuer, tc.user, tc.more)))
		var denied *auth.ForbiddenError
		require.ErrorAs(t, err, &denied, name)
		require.Equal(t, tc.code, denied.Code, name)
	}
	lenient := newProvider(t, issuer.Issuer(), func(o *auth.ProviderOptions) {
		o.DefaultRole, o.OrganisationClaim, o.Organisations, o.AccountClaim = auth.RoleViewer, "", nil, "email"
	})
	who, err := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Provider: lenient}).Authenticate(t.Context(), asking(t, mint(t, issuer, "bob", nil)))
	require.NoError(t, err)
	require.Equal(t, approval.Identity{Account: "bob@example.com", Organisation: auth.DefaultOrganisation}, who.Identity)
}

// Case 11, and 12 for what is told apart from it.
func TestAProviderThatCannotBeReachedIsNoRefusal(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	clock := &clock{at: time.Now()}
	provider := newProvider(t, issuer.Issuer(), func(o *auth.ProviderOptions) { o.Now = clock.Now })
	tokens, _, _ := open(t)
	both := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Provider: provider})
	token := mint(t, issuer, "ann", nil)
	for _, fault := range []simulator.Fault{simulator.AnswerStatus(500), simulator.AnswerStatus(404), simulator.AnswerHTML(200), {Reset: true}} {
		issuer.Inject(simulator.RouteDiscovery, simulator.Always, fault)
		_, err := both.Authenticate(t.Context(), asking(t, token))
		var down *auth.UnavailableError
		require.ErrorAs(t, err, &down)
		require.Positive(t, down.RetryAfter)
		require.NotErrorIs(t, err, auth.ErrUnauthorized)
		issuer.ClearFaults()
		clock.Advance(time.Minute)
	}
	_, err := both.Authenticate(t.Context(), asking(t, token))
	require.NoError(t, err)

	issuer.Stop()
	clock.Advance(20 * time.Minute)
	_, err = both.Authenticate(t.Context(), asking(t, token))
	require.NoError(t, err, "a key that is known goes on being good while nobody can be asked")
	clock.Advance(25 * time.Hour)
	_, err = both.Authenticate(t.Context(), asking(t, mint(t, issuer, "ann", map[string]any{"exp": clock.Now().Add(time.Hour).Unix()})))
	var down *auth.UnavailableError
	require.ErrorAs(t, err, &down, "but not for ever")
}

func TestNewKeysAreLearntAndWithdrawnOnesForgotten(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	clock := &clock{at: time.Now()}
	provider := newProvider(t, issuer.Issuer(), func(o *auth.ProviderOptions) { o.Now = clock.Now })
	old := mint(t, issuer, "ann", nil)
	_, err := provider.Bearer(t.Context(), old)
	require.NoError(t, err)
	require.NoError(t, issuer.RotateKey())
	fresh := mint(t, issuer, "ann", nil)
	clock.Advance(6 * time.Second)
	_, err = provider.Bearer(t.Context(), fresh)
	require.NoError(t, err, "a key that is not known is asked for")
	_, err = provider.Bearer(t.Context(), old)
	require.ErrorIs(t, err, auth.ErrUnauthorized)
	asked := issuer.Count(simulator.RouteKeys)
	for range 20 {
		_, err = provider.Bearer(t.Context(), old)
		require.ErrorIs(t, err, auth.ErrUnauthorized)
	}
	require.Equal(t, asked, issuer.Count(simulator.RouteKeys))
}

func TestACallerWhoLeavesDoesNotWaitForTheProvider(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	issuer.Inject(simulator.RouteDiscovery, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	provider := newProvider(t, issuer.Issuer())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := provider.Bearer(ctx, mint(t, issuer, "ann", nil))
	require.ErrorIs(t, err, context.Canceled)
}

func TestOneHeaderOneTokenAndNothingInTheQuery(t *testing.T) {
	t.Parallel()
	tokens, kept, _ := open(t)
	text, _ := make1(t, tokens, auth.Request{Name: "a", Role: auth.RoleOwner})
	both := auth.NewAuthenticator(auth.Sources{Tokens: tokens})
	ask := func(shown bool, headers ...string) {
		t.Helper()
		r := asking(t, "")
		r.URL.RawQuery = url.Values{"access_token": {text}, "token": {text}}.Encode()
		for _, h := range headers {
			r.Header.Add("Authorization", h)
		}
		_, err := both.Authenticate(t.Context(), r)
		var wrong *auth.UnauthorizedError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, shown, wrong.Shown())
	}
	ask(false)
	ask(false, "Basic "+text)
	ask(true, "Bearer ")
	ask(true, "Bearer "+text, "Bearer "+text)
	ask(true, "Bearer "+text+" x")
	ask(true, "Bearer eyJ.a.b")
	who, err := both.Authenticate(t.Context(), asking(t, text))
	require.NoError(t, err)
	require.Equal(t, auth.RoleOwner, who.Role)
	kept.fault = errors.New("disk gone")
	_, err = both.Authenticate(t.Context(), asking(t, text))
	var down *auth.UnavailableError
	require.ErrorAs(t, err, &down)
	require.NotContains(t, err.Error(), "disk")
	everybody := auth.NewAuthenticator(auth.Sources{Tokens: tokens, Open: true})
	who, err = everybody.Authenticate(t.Context(), asking(t, ""))
	require.NoError(t, err)
	require.Equal(t, auth.Local(), who)
	require.True(t, everybody.Open())
}

// follow sends a person's browser to the provider and returns what it is sent back with.
func follow(t *testing.T, address string) url.Values {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	client := &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, res.StatusCode, string(text))
	back, err := res.Location()
	require.NoError(t, err)
	return back.Query()
}

func TestPeopleLogInByTheProvider(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	provider := newProvider(t, issuer.Issuer())
	require.True(t, provider.CanLogin())
	begin := func() (url.Values, auth.Login) {
		address, login, err := provider.Begin(t.Context(), "https://holdfast.example/login/callback", "/resume/x")
		require.NoError(t, err)
		require.NotContains(t, address, login.Verifier)
		return follow(t, address), login
	}
	answer, login := begin()
	claims, err := provider.Finish(t.Context(), login, answer)
	require.NoError(t, err)
	who, err := provider.Principal(claims)
	require.NoError(t, err)
	require.Equal(t, "oidc:ann", who.ID)
	_, err = provider.Finish(t.Context(), login, answer)
	require.ErrorIs(t, err, auth.ErrUnauthorized, "a code works once")

	for name, change := range map[string]func(answer url.Values, login *auth.Login){
		"another state":           func(a url.Values, _ *auth.Login) { a.Set("state", "x") },
		"another issuer":          func(a url.Values, _ *auth.Login) { a.Set("iss", "https://evil.example") },
		"no issuer":               func(a url.Values, _ *auth.Login) { a.Del("iss") },
		"no code":                 func(a url.Values, _ *auth.Login) { a.Del("code") },
		"another person's code":   func(_ url.Values, l *auth.Login) { l.Verifier = rand.Text() + rand.Text() },
		"another login's nonce":   func(_ url.Values, l *auth.Login) { l.Nonce = "x" },
		"another callback's code": func(_ url.Values, l *auth.Login) { l.Callback = "https://evil.example/" },
	} {
		answer, login := begin()
		change(answer, &login)
		_, err := provider.Finish(t.Context(), login, answer)
		require.ErrorIs(t, err, auth.ErrUnauthorized, name)
	}
	issuer.SetUser("nobody")
	answer, login = begin()
	_, err = provider.Finish(t.Context(), login, answer)
	var denied *auth.ForbiddenError
	require.ErrorAs(t, err, &denied)
	issuer.SetUser("ann")
	answer, login = begin()
	issuer.Inject(simulator.RouteToken, 1, simulator.AnswerStatus(503))
	_, err = provider.Finish(t.Context(), login, answer)
	var down *auth.UnavailableError
	require.ErrorAs(t, err, &down)
	issuer.Stop()
	_, err = provider.Finish(t.Context(), login, answer)
	require.ErrorAs(t, err, &down)
}

func TestASecretKeyOrOneForEncryptionSignsNothing(t *testing.T) {
	t.Parallel()
	issuer := newIssuer(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: []byte(strings.Repeat("k", 32)), KeyID: "a"}, {Key: key.Public(), KeyID: "b", Use: "enc"}, {Key: key, KeyID: "c"},
	}})
	require.NoError(t, err)
	issuer.Inject(simulator.RouteKeys, simulator.Always, simulator.Fault{Status: http.StatusOK, Body: string(set)})
	_, err = newProvider(t, issuer.Issuer()).Bearer(t.Context(), mint(t, issuer, "ann", nil))
	var down *auth.UnavailableError
	require.ErrorAs(t, err, &down)
}
