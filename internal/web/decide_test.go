package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

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
