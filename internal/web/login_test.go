package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/origin"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

func TestALinkSurvivesTheLogin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	v := r.visitor()
	turned := v.get(link(row))
	require.Equal(t, http.StatusSeeOther, turned.status)
	require.Equal(t, "/login?return="+url.QueryEscape(link(row)), turned.header.Get("Location"))
	page := v.get(turned.header.Get("Location"))
	require.Contains(t, page.body, "/login/oidc?return=%2fresume%2f"+row.ID)
	at := v.get("/login/oidc?return=" + url.QueryEscape(link(row))).header.Get("Location")
	back := v.get(at + "&user=ann").header.Get("Location")
	done := v.get(back)
	require.Equal(t, link(row), done.header.Get("Location"))
	require.Contains(t, v.get(link(row)).body, "github.create_issue")
	require.Equal(t, link(row), v.get("/login?return="+url.QueryEscape(link(row))).header.Get("Location"), "who is logged in is not asked again")
	again := v.get(back)
	require.Equal(t, http.StatusUnauthorized, again.status, "an answer of the provider works once")
}

func TestALoginNeverLeadsElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := r.token(auth.RoleOwner, "")
	for _, back := range []string{
		"https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/%0d%0aSet-Cookie:x", "", "resume/x",
		"/login", "/login/oidc", "/\t/evil.example", "http:/evil", strings.Repeat("/x", 600),
	} {
		got := r.visitor().do(http.MethodPost, "/login", url.Values{"token": {text}, "return": {back}}, nil)
		require.Equal(t, http.StatusSeeOther, got.status, back)
		where := got.header.Get("Location")
		require.True(t, where == "/" || where == "/%0d%0aSet-Cookie:x", "%q leads to %q", back, where)
	}
}

func TestLoginsThatFailSayWhyAndLetNobodyIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v := r.visitor()
	wrong := v.do(http.MethodPost, "/login", url.Values{"token": {"hft_x"}}, nil)
	require.Equal(t, http.StatusUnauthorized, wrong.status)
	require.Contains(t, wrong.body, "You are not logged in")
	require.NotContains(t, wrong.body, "hft_x")
	at := v.get("/login/oidc").header.Get("Location")
	out := v.get(v.get(at + "&user=out").header.Get("Location"))
	require.Equal(t, http.StatusForbidden, out.status)
	require.Contains(t, out.body, "no role here")
	refused := v.get(v.get(v.get("/login/oidc").header.Get("Location") + "&user=nobody").header.Get("Location"))
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Equal(t, http.StatusUnauthorized, v.get("/login/callback?state=x&code=y").status)
	require.Equal(t, http.StatusForbidden, v.do(http.MethodPost, "/login", url.Values{"token": {r.token(auth.RoleOwner, "")}}, map[string]string{"Origin": "https://evil.example"}).status)
	require.Equal(t, http.StatusSeeOther, v.get("/").status)

	down := newRig(t)
	down.issuer.Inject(simulator.RouteDiscovery, simulator.Always, simulator.AnswerStatus(500))
	got := down.visitor().get("/login/oidc")
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Contains(t, got.body, "API token", "the other way is still there")
}

func TestALoginEndsWithItsTokenAndByLoggingOut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := r.token(auth.RoleOwner, "ann")
	v := r.visitor()
	require.Equal(t, "/approvals", v.do(http.MethodPost, "/login", url.Values{"token": {text}, "return": {"/approvals"}}, nil).header.Get("Location"))
	require.Equal(t, http.StatusOK, v.get("/approvals").status)
	require.NoError(t, r.tokens.Revoke(t.Context(), strings.Split(text, "_")[1]))
	require.Equal(t, http.StatusSeeOther, v.get("/approvals").status)

	ann := r.as("ann")
	require.Equal(t, http.StatusForbidden, ann.do(http.MethodPost, "/logout", nil, nil).status, "no other page logs anybody out")
	require.Equal(t, "/login", ann.post("/logout").header.Get("Location"))
	require.Equal(t, http.StatusSeeOther, ann.get("/").status)
	require.Equal(t, http.StatusUnauthorized, ann.get("/approvals/events").status)
}

func TestWhereNobodyLogsInThePagesStillDecideOnlyForThemselves(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *auth.Sources, p *web.Params) {
		s.Open, s.Provider = true, nil
		p.Settings.Names = origin.Policy{}
	})
	row := r.pause(func(e *store.Execution, _ *store.PauseRow) { e.Identity = auth.Local().Identity })
	v := r.visitor()
	require.Equal(t, http.StatusOK, v.get(link(row)).status)
	require.NotContains(t, v.get("/").body, "Log out")
	require.Equal(t, http.StatusForbidden, v.do(http.MethodPost, link(row), url.Values{"action": {"accept"}}, nil).status)
	found := guardPattern.FindStringSubmatch(v.get(link(row)).body)
	require.NotNil(t, found)
	got := v.do(http.MethodPost, link(row), url.Values{"action": {"accept"}, "guard": {found[1]}}, nil)
	require.Equal(t, http.StatusSeeOther, got.status)
	require.Len(t, r.engine.answered(), 1)
}
