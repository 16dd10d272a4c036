package web_test

import (
	"encoding/json"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

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

func TestANumberThatNobodyCanTakeIsSaidAtItsField(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ann := r.as("ann")
	row := r.pause(func(e *store.Execution, p *store.PauseRow) {
		asForm(e, p)
		p.Request.Schema = json.RawMessage(`{"properties":{"size":{"type":"number"},"whole":{"type":"integer"},"any":{}}}`)
	})
	for _, tc := range []struct{ field, value, says string }{
		{"size", "1e400", "This number is too large."},
		{"size", "-1e309", "This number is too large."},
		{"whole", "1e999", "This number is too large."},
		{"any", `{"a":[1e400]}`, "A number in this JSON is too large."},
		{"any", `{"a":1,"a":2}`, "give each name once"},
	} {
		got := ann.post(link(row), "action", "accept", "f."+tc.field, tc.value, "reason", "kept")
		require.Equal(t, http.StatusUnprocessableEntity, got.status, tc.value)
		require.Contains(t, got.body, tc.says)
		require.Contains(t, got.body, "kept")
		require.Contains(t, got.body, html.EscapeString(tc.value), "what was sent is still there")
	}
	require.Empty(t, r.engine.answered())
	require.Equal(t, http.StatusSeeOther, ann.post(link(row), "action", "accept", "f.size", "1e308", "f.whole", "123456789012345678901234567890").status)
	require.JSONEq(t, `{"size":1e308,"whole":123456789012345678901234567890}`, string(r.engine.answered()[0].Content))
}
