package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAMemberIsTakenByItsExactNameAndOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const (
		decide    = "/api/v1/approvals/" + pauseID + "/decision"
		execute   = "/api/executions"
		reconcile = "/api/v1/connections/w1/own/reconcile"
		add       = "/workspace/w1/mcp"
	)
	for _, tc := range []struct{ path, body, says string }{
		{decide, `{"action":"accept","action":"decline"}`, `The body has a member twice: "action".`},
		{decide, `{"action":"accept","\u0061ction":"decline"}`, `The body has a member twice: "action".`},
		{decide, `{"Action":"accept"}`, `not known: "Action". The body's own are action, content, reason: see /openapi.json.`},
		{sessionPath + "/resume", `{"action":"decline","ACTION":"accept"}`, `not known: "ACTION".`},
		{sessionPath + "/resume", `{"action":"decline","more":1,"more":2}`, `The body has a member twice: "more".`},
		{executionPath + "/resume", `{"action":"accept","content":{},"content":{"x":1}}`, `The body has a member twice: "content".`},
		{decide, `{"action":"accept","content":{"x":{"y":1,"y":2}}}`, `content has a member twice: "y".`},
		{execute, `{"tool":"demo.read","Tool":"demo.send"}`, `not known: "Tool". The body's own are tool, arguments, autoApprove`},
		{execute, `{"tool":"demo.read","autoApprove":false,"autoapprove":true}`, `not known: "autoapprove".`},
		{execute, `{"tool":"demo.read","argument` + "\u017f" + `":{}}`, `not known: "argument` + "\u017f" + `".`},
		{reconcile, `{"context":{"model":"a","Model":"b"}}`, `context has a member that is not known: "Model". context's own are provider, model`},
		{reconcile, `{"context":{"model":"a","model":"b"}}`, `context has a member twice: "model".`},
		{reconcile, `{"config":{"headers":{"x":"a","x":"b"}}}`, `config has a member twice: "x".`},
		{reconcile, `{"url":"http://127.0.0.1:1/","url":"http://127.0.0.1:2/"}`, `The body has a member twice: "url".`},
		{reconcile, `{"expectedTools":[[{"a":1,"a":2}]]}`, `expectedTools has a member twice: "a".`},
		{add, `{"name":"x","tokenSource":{"kind":"literal","Kind":"env"}}`, `tokenSource has a member that is not known: "Kind".`},
		{add, `{"name":"x","tokenSource":{"kind":"literal","scopes":["a"],"scopes":[]}}`, `tokenSource has a member twice: "scopes".`},
	} {
		a := r.as(auth.RoleOwner, http.MethodPost, tc.path, tc.body)
		a.requireError(http.StatusBadRequest, "invalid_payload")
		var said struct{ Message string }
		a.into(&said)
		require.Contains(t, said.Message, tc.says, tc.body)
	}
	require.Empty(t, r.executions.of("decide"))
	require.Empty(t, r.executions.of("resume"))
	require.Empty(t, r.executions.of("execute"))
	rows, err := r.store.ListDesired(t.Context(), store.Filter{Name: "x"})
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestWhatIsGivenToAToolHasItsOwnNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deep := strings.Repeat(`{"tool":`, 50) + `1` + strings.Repeat(`}`, 50)
	for _, arguments := range []string{`{"tool":1,"Tool":2,"action":3}`, `[1]`, `{"a":[{"A":1,"a":2},"x"]}`, deep} {
		a := r.as(auth.RoleOwner, http.MethodPost, "/api/executions", `{"arguments":`+arguments+`,"tool":"demo.read"}`)
		if arguments[0] == '{' {
			a.requireOK()
		} else {
			a.requireError(http.StatusBadRequest, "invalid_payload")
		}
	}
	require.Len(t, r.executions.of("execute"), 3)
}
