package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
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
