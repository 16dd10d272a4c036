package web_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/origin"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

func TestEveryPageAllowsNothingFromElsewhereAndNothingInline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	for _, path := range []string{"/", "/login?switch=1", link(row), "/approvals", "/approvals/history", "/nothing", "/assets/app.js", "/assets/none"} {
		got := ann.get(path)
		require.Equal(t, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "+
			"form-action 'self'; frame-ancestors 'none'; base-uri 'none'", got.header.Get("Content-Security-Policy"), path)
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		require.Equal(t, "DENY", got.header.Get("X-Frame-Options"))
		require.NotContains(t, got.body, "<style")
		require.NotContains(t, got.body, " style=")
		require.NotContains(t, got.body, " onclick=")
		require.NotContains(t, got.body, "ZgotmplZ")
	}
	require.Equal(t, http.StatusForbidden, ann.do(http.MethodGet, "/", nil, map[string]string{"Host": "evil.example"}).status)
	for _, route := range web.Routes() {
		require.Regexp(t, `^(GET|POST) /`, route)
	}
}

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

// Case 47.
func TestWhatIsNotThereAndWhatIsSomebodyElsesAreTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	bob := r.as("bob")
	body := func(path string) string {
		got := bob.get(path)
		require.Equal(t, http.StatusNotFound, got.status, path)
		// A guard and a time are on every page.
		clean := guardPattern.ReplaceAllString(got.body, "")
		_, clean, _ = strings.Cut(clean, "</header>")
		clean = strings.ReplaceAll(clean, strings.ReplaceAll(path, "/", "%2f"), "PATH")
		return clean
	}
	want := body("/resume/" + approval.PauseID(approval.NewKey(), 1))
	require.NotContains(t, want, "github")
	for _, path := range []string{link(row), "/resume/" + row.Key, "/resume/exec_x", "/resume/" + approval.PauseID(row.Key, 7), "/no/page"} {
		require.Equal(t, want, body(path), path)
	}
	for _, user := range []string{"bob", "eve"} {
		require.Equal(t, http.StatusNotFound, r.as(user).post(link(row), "action", "accept").status)
		require.Equal(t, http.StatusNotFound, r.as(user).get(link(row)+"/events").status)
	}
	require.Empty(t, r.engine.answered())
	found, err := r.store.Pause(t.Context(), row.ID)
	require.NoError(t, err)
	require.True(t, found.Open())
}

func TestOnlyThePageItselfDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	guard := ann.guard()
	for name, tc := range map[string]struct {
		form   url.Values
		header map[string]string
	}{
		"no secret":               {url.Values{"action": {"accept"}}, nil},
		"another's secret":        {url.Values{"action": {"accept"}, "guard": {r.as("ann").guard()}}, nil},
		"another origin":          {url.Values{"action": {"accept"}, "guard": {guard}}, map[string]string{"Origin": "https://evil.example"}},
		"a sandbox":               {url.Values{"action": {"accept"}, "guard": {guard}}, map[string]string{"Origin": "null"}},
		"no origin, another site": {url.Values{"action": {"accept"}, "guard": {guard}}, map[string]string{"Origin": "", "Sec-Fetch-Site": "cross-site"}},
		"secret in the query":     {url.Values{"action": {"accept"}}, nil},
	} {
		path := link(row)
		if name == "secret in the query" {
			path += "?guard=" + guard
		}
		got := ann.do(http.MethodPost, path, tc.form, tc.header)
		require.Equal(t, http.StatusForbidden, got.status, name)
		require.Contains(t, got.body, "Nothing was done", name)
	}
	require.Equal(t, http.StatusSeeOther, r.visitor().do(http.MethodPost, link(row), url.Values{"action": {"accept"}}, nil).status)
	require.Empty(t, r.engine.answered())
}

// Case 48, as a page.
func TestWhatIsNoAnswerDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	require.Equal(t, http.StatusBadRequest, ann.post(link(row), "action", "maybe").status)
	require.Equal(t, http.StatusBadRequest, ann.post(link(row)).status)
	require.Equal(t, http.StatusBadRequest, ann.post(link(row), "action", "accept", "reason", strings.Repeat("x", 1001)).status)
	require.Empty(t, r.engine.answered())
}

func TestWhatARuleHasComeToDenyIsSaidAndNotDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	var denied error = &executions.DeniedError{Address: "github.put", Rule: "rule 1: github.put"}
	r.engine.refuses.Store(&denied)
	got := r.as("ann").post(link(row), "action", "accept")
	require.Equal(t, http.StatusForbidden, got.status)
	require.Contains(t, got.body, "A rule refuses this call")
	require.Contains(t, got.body, "rule 1: github.put")
	require.Empty(t, r.engine.answered())
}

// Case 49, without scripts.
func TestThePageShowsWhatIsDecidedOnAndThenTheRealOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	page := ann.get(link(row))
	require.Equal(t, http.StatusOK, page.status)
	text := html.UnescapeString(page.body)
	for _, shown := range []string{
		"github.create_issue", "Ann Example", "claude-code 2.1", "rule 2: github.*", "acme/site", "[REDACTED]", "12345678901234567890",
		`value="accept"`, `value="decline"`, `value="cancel"`, "Create an issue in acme/site",
	} {
		require.Contains(t, text, shown)
	}
	sent := ann.post(link(row), "action", "accept", "reason", "fine by me")
	require.Equal(t, http.StatusSeeOther, sent.status)
	require.Equal(t, []executions.Answer{{ID: row.ID, Action: approval.ActionAccept, Reason: "fine by me"}}, r.engine.answered())
	after := ann.get(sent.header.Get("Location")).body
	require.Contains(t, after, "Running")
	require.NotContains(t, after, "was not taken")
	require.NotContains(t, after, `value="accept"`)
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "issue 12 made with ghp_secret123")
	done := ann.get(link(row)).body
	require.Contains(t, done, "The tool ran and answered")
	require.Contains(t, done, "issue 12 made with [REDACTED]")
	require.Contains(t, done, "fine by me")
}

func TestEveryEndIsToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for kind, says := range map[approval.OutcomeKind]string{
		approval.OutcomeFailed: "The call failed", approval.OutcomeDeclined: "Declined: the tool was not called", approval.OutcomeCancelled: "Called off",
		approval.OutcomeUnknown: "It may have run",
	} {
		row := r.pause()
		require.Equal(t, http.StatusSeeOther, ann.post(link(row), "action", "decline").status)
		r.settle(row.Key, approval.Outcome{Kind: kind, Message: "cut"}, "")
		require.Contains(t, ann.get(link(row)).body, says)
	}
	row := r.pause()
	ann.post(link(row), "action", "accept")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, ToolError: true}, "no such repository")
	require.Contains(t, ann.get(link(row)).body, "answered with an error")
	dropped := r.pause()
	dropped.Dropped = true
	require.NoError(t, r.store.RecordDecided(t.Context(), dropped.Pause, nil))
	require.Contains(t, ann.get(link(dropped)).body, "No answer is needed any more")
}

func TestTheFirstDecisionCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann, ops := r.as("ann"), r.as("ops")
	ann.post(link(row), "action", "decline", "reason", "not today")
	late := ops.post(link(row), "action", "accept")
	require.Equal(t, http.StatusSeeOther, late.status)
	page := ops.get(late.header.Get("Location")).body
	require.Contains(t, page, "Your answer was not taken")
	require.Contains(t, page, "Ann Example")
	require.Contains(t, page, "not today")
	require.NotContains(t, ann.get(link(row)).body, "was not taken")
}

func TestAfterTheDeadlineThereIsNoButton(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	r.advance(5 * time.Minute)
	page := ann.get(link(row)).body
	require.Contains(t, page, "Too late")
	require.Contains(t, page, "ask for the call again")
	require.NotContains(t, page, `value="accept"`)
	late := ann.post(link(row), "action", "accept")
	require.Contains(t, ann.get(late.header.Get("Location")).body, "it came too late")
	require.NotContains(t, ann.get("/approvals").body, row.ID)
}

func TestRolesAndAReadOnlyGatewayAreHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	vic := r.pause(func(e *store.Execution, _ *store.PauseRow) { e.Identity.Account = "vic" })
	viewer := r.as("vic")
	require.Contains(t, viewer.get(link(vic)).body, "needs the role collaborator")
	require.NotContains(t, viewer.get(link(vic)).body, `value="accept"`)
	require.Equal(t, http.StatusForbidden, viewer.post(link(vic), "action", "decline").status)
	other := r.pause(asURL("https://calendar.example/connect"))
	ops := r.as("ops")
	require.Contains(t, ops.get(link(other)).body, "not you: ann")
	require.NotContains(t, ops.get(link(other)).body, `value="accept"`, "only who asked goes to the page that the tool means")
	require.NotContains(t, ops.get(link(other)).body, `href="https://calendar.example`)
	require.Equal(t, http.StatusForbidden, ops.post(link(other), "action", "accept").status)
	require.Equal(t, http.StatusSeeOther, ops.post(link(other), "action", "decline").status)

	silent := newRig(t, func(_ *auth.Sources, p *web.Params) { p.Settings.ReadOnly = true })
	row := silent.pause()
	ann := silent.as("ann")
	require.Contains(t, ann.get(link(row)).body, "read-only")
	require.Equal(t, http.StatusForbidden, ann.post(link(row), "action", "accept").status)
	require.Empty(t, silent.engine.answered())
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

func TestAFormIsFilledInAsItsSchemaSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause(asForm)
	ann := r.as("ann")
	page := ann.get(link(row)).body
	require.Less(t, strings.Index(page, `name="f.zeta"`), strings.Index(page, `name="f.alpha"`), "in the schema's order")
	for _, shown := range []string{`type="email"`, `type="url"`, `value="Login fails"`, "An idea", "Operations", "Gamma"} {
		require.Contains(t, page, shown)
	}
	bad := ann.post(link(row), "action", "accept", "f.zeta", "ab", "f.mail", "x", "f.link", "no", "f.count", "11", "f.ratio", "0.6",
		"f.kind", `"other"`, "f.labels", `"a"`, "f.labels", `"b"`, "f.labels", `"c"`, "f.alpha", "{", "reason", "kept")
	require.Equal(t, http.StatusUnprocessableEntity, bad.status)
	for _, says := range []string{
		"3 to 40 characters", "not an e-mail address", "not a whole URL", "1 to 10, a whole number", "at most 0.5", "Choose one of the options",
		"1 to 2 choices", "not valid JSON", "nothing was sent yet", "kept",
	} {
		require.Contains(t, bad.body, says)
	}
	for _, count := range []string{"1.5", "1e2", "0x1", "1/2", "NaN", "", strings.Repeat("1", 50)} {
		got := ann.post(link(row), "action", "accept", "f.zeta", "abc", "f.count", count, "f.labels", `"a"`)
		require.Equal(t, http.StatusUnprocessableEntity, got.status, count)
	}
	require.Empty(t, r.engine.answered())
	good := ann.post(link(row), "action", "accept", "f.zeta", "Neu ü", "f.mail", "a@b.example", "f.link", "https://x.example/", "f.body", "a\r\nb",
		"f.count", "10", "f.ratio", "0.25", "f.urgent", "true", "f.kind", `"bug"`, "f.team", `"web"`, "f.labels", `"a"`, "f.labels", `"c"`, "f.alpha", `{"x":[1]}`)
	require.Equal(t, http.StatusSeeOther, good.status)
	require.JSONEq(t, `{"zeta":"Neu ü","mail":"a@b.example","link":"https://x.example/","body":"a\nb","count":10,"ratio":0.25,"urgent":true,
		"kind":"bug","team":"web","labels":["a","c"],"alpha":{"x":[1]}}`, string(r.engine.answered()[0].Content))

	few := r.pause(asForm)
	require.Equal(t, http.StatusSeeOther, ann.post(link(few), "action", "accept", "f.zeta", "abc", "f.count", "1", "f.labels", `"a"`, "f.team", "", "f.kind", "").status)
	require.JSONEq(t, `{"zeta":"abc","count":1,"labels":["a"],"urgent":false}`, string(r.engine.answered()[1].Content))
	declined := r.pause(asForm)
	require.Equal(t, http.StatusSeeOther, ann.post(link(declined), "action", "decline", "f.count", "x").status)
	require.Empty(t, r.engine.answered()[2].Content)
	odd := r.pause(func(e *store.Execution, p *store.PauseRow) {
		asForm(e, p)
		p.Request.Schema = json.RawMessage(`{"properties":[1]}`)
	})
	require.Contains(t, ann.get(link(odd)).body, "cannot be shown")
	require.Equal(t, http.StatusForbidden, ann.post(link(odd), "action", "accept").status)
}

func TestWhatOthersWriteIsTextAndNothingElse(t *testing.T) {
	t.Parallel()
	const evil = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{.Guard}}`
	r := newRig(t)
	ann := r.as("ann")
	row := r.pause(func(e *store.Execution, p *store.PauseRow) {
		e.Address, e.Arguments = "evil."+evil, []byte(`{"<script>alert(3)</script>":"\u202egnp.exe","x":"</pre><script>"}`)
		p.Request = approval.Request{Kind: approval.KindForm, Message: evil + "\u202e\u0007", Reason: evil, Schema: json.RawMessage(
			`{"properties":{"<script>":{"type":"string","title":"<b onclick=x>","description":"<i>","default":"\"><script>","format":"<x>"},"s":{"enum":["<script>","\"onx="]}}}`)}
		p.Client = evil
	})
	body := ann.get(link(row)).body
	require.NotContains(t, body, "<img")
	require.NotContains(t, body, "<script>")
	require.NotContains(t, body, "<b ")
	require.NotContains(t, body, "<i>")
	require.NotContains(t, body, "\u202e", "what turns text around is made visible")
	require.Contains(t, body, `\u202e`)
	require.NotContains(t, ann.get("/approvals").body, "<script>")
	for address, linked := range map[string]bool{
		"https://calendar.example/x?a=1": true, "http://127.0.0.1:9/": true, "javascript:alert(1)": false, "data:text/html,x": false,
		"https://google.com@evil.example/": false, "//evil.example": false, "vbscript:x": false, " https://x": false, "": false,
	} {
		page := ann.get(link(r.pause(asURL(address)))).body
		require.Equal(t, linked, strings.Contains(page, `target="_blank"`), address)
		require.NotContains(t, page, `href="javascript`, address)
	}
	punny := ann.get(link(r.pause(asURL("https://xn--80ak6aa92e.com/")))).body
	require.Contains(t, punny, "xn--80ak6aa92e.com")
	require.Contains(t, ann.get(link(r.pause(asURL("https://аррӏе.com/")))).body, "xn--80ak6aa92e.com", "as it is sent over the wire")
}

func TestTheInboxIsOnesOwnAndAnOperatorsIsTheOrganisations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	mine := r.pause()
	bobs := r.pause(func(e *store.Execution, _ *store.PauseRow) { e.Identity.Account = "bob" })
	evils := r.pause(func(e *store.Execution, _ *store.PauseRow) {
		e.Identity = approval.Identity{Account: "eve", Organisation: "evil"}
	})
	for user, sees := range map[string][]bool{"ann": {true, false, false}, "bob": {false, true, false}, "ops": {true, true, false}, "eve": {false, false, true}} {
		body := r.as(user).get("/approvals").body
		for i, row := range []store.PauseRow{mine, bobs, evils} {
			require.Equal(t, sees[i], strings.Contains(body, link(row)), "%s %d", user, i)
		}
	}
	require.Equal(t, http.StatusSeeOther, r.as("ops").post(link(bobs), "action", "accept").status)
}

func TestTheHistoryIsReadInPagesAndByWhatWasDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	for i := range 30 {
		row := r.pause(func(e *store.Execution, p *store.PauseRow) {
			e.CreatedAt = e.CreatedAt.Add(time.Duration(i) * time.Second)
			p.CreatedAt = e.CreatedAt
			if i == 3 {
				e.Address = "mail.send"
			}
		})
		row.Decision = &approval.Decision{Action: approval.ActionAccept, By: "oidc:ann", Name: "Ann", Via: approval.ViaCLI, At: row.CreatedAt.Add(7 * time.Second)}
		if i%10 == 0 {
			row.Decision, row.Expired = nil, true
		}
		require.NoError(t, r.store.RecordDecided(t.Context(), row.Pause, nil))
	}
	first := ann.get("/approvals/history")
	require.Equal(t, 25, strings.Count(first.body, `class="address" href="/resume/`))
	require.Contains(t, first.body, "7 s")
	require.Contains(t, first.body, "by the command line")
	_, rest, found := strings.Cut(first.body, `href="/approvals/history?before=`)
	require.True(t, found)
	next, _, _ := strings.Cut(rest, `"`)
	second := ann.get("/approvals/history?before=" + html.UnescapeString(next))
	require.Equal(t, 5, strings.Count(second.body, `class="address" href="/resume/`))
	require.NotContains(t, second.body, "Older")
	require.Equal(t, 3, strings.Count(ann.get("/approvals/history?ending=expired").body, `class="address" href="/resume/`))
	require.Equal(t, 1, strings.Count(ann.get("/approvals/history?q=MAIL").body, `class="address" href="/resume/`))
	require.Contains(t, ann.get("/approvals/history?ending=declined").body, "Nothing to show")
	require.Equal(t, http.StatusNotFound, ann.get("/approvals/history?before=x").status)
	require.Contains(t, r.as("bob").get("/approvals/history").body, "Nothing to show")
}

func TestWhatCannotBeReachedIsSaidAndNothingIsTakenForMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	row := r.pause()
	ann := r.as("ann")
	var down error = &executions.UnavailableError{What: "temporal"}
	r.engine.fault.Store(&down)
	got := ann.get(link(row))
	require.Equal(t, http.StatusServiceUnavailable, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
	require.Contains(t, got.body, "nothing is lost")
	require.Equal(t, http.StatusServiceUnavailable, ann.post(link(row), "action", "accept").status)
	r.engine.fault.Store(nil)
	require.Equal(t, http.StatusOK, ann.get(link(row)).status)
	require.Equal(t, link(row), ann.get("/resume/"+row.Key).header.Get("Location"), "an execution leads to what it asks")
}

// listen opens the stream of a live page, and reads it to its end.
func (v *visitor) listen(path string) <-chan string {
	v.r.t.Helper()
	req, err := http.NewRequestWithContext(v.r.t.Context(), http.MethodGet, v.r.server.URL+path, nil)
	require.NoError(v.r.t, err)
	res, err := v.client.Do(req) //nolint:bodyclose // closed where it has been read
	require.NoError(v.r.t, err)
	require.Equal(v.r.t, http.StatusOK, res.StatusCode)
	told := make(chan string, 1)
	go func() {
		defer func() { _ = res.Body.Close() }()
		raw, _ := io.ReadAll(res.Body) // what came is told, whether or not it was cut short
		told <- string(raw)
	}()
	return told
}

func TestALivePageEndsWithItsLoginWithTheGatewayAndWhenAllIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	text := r.token(auth.RoleOwner, "ann")
	v := r.visitor()
	v.do(http.MethodPost, "/login", url.Values{"token": {text}}, nil)
	over := v.listen("/approvals/events")
	require.NoError(t, r.tokens.Revoke(t.Context(), strings.Split(text, "_")[1]))
	require.Contains(t, <-over, "event: over")

	row := r.pause()
	ann := r.as("ann")
	said := ann.listen(link(row) + "/events")
	ann.post(link(row), "action", "accept")
	r.settle(row.Key, approval.Outcome{Kind: approval.OutcomeCompleted, Calls: 1}, "all done")
	told := <-said
	require.Contains(t, told, "all done")
	require.Contains(t, told, `"final":true`)
	inbox := ann.listen("/approvals/events")
	r.web.Drain()
	<-inbox
}

func TestLivePagesAreCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *auth.Sources, p *web.Params) { p.Settings.Streams = 1 })
	ann := r.as("ann")
	first := ann.listen("/approvals/events")
	require.Equal(t, http.StatusServiceUnavailable, ann.get("/approvals/events").status)
	r.web.Drain()
	<-first
}
