package mcpserver_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestCase56MethodsThatMCPHasNoUseFor(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL).as("")
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodHead} {
		a := p.send(method, "")
		require.Equal(t, http.StatusMethodNotAllowed, a.status)
		require.NotEmpty(t, a.header.Get("Allow"))
		if method != http.MethodHead {
			a.requireError(http.StatusMethodNotAllowed, -32001)
		}
	}
	a := p.send(http.MethodOptions, "")
	require.Equal(t, http.StatusNoContent, a.status)
	require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.header.Get("Access-Control-Allow-Methods"), "DELETE")
	for _, name := range []string{"content-type", "authorization", "mcp-session-id", "accept", "mcp-protocol-version"} {
		require.Contains(t, a.header.Get("Access-Control-Allow-Headers"), name)
	}
}

func TestForeignPagesAndNamesAreRefusedBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Names.Origins = []string{"https://inspector.example"}
	p := newPeer(t, g.Start().URL).as("bad")
	try := func(method, host, origin string) answer {
		r := p.request(t.Context(), method, initializeBody("2025-11-25"))
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		return p.do(r)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
		try(method, "evil.example", "").requireError(http.StatusForbidden, -32001)
		try(method, "", "https://evil.example").requireError(http.StatusForbidden, -32001)
		try(method, "", "null").requireError(http.StatusForbidden, -32001)
	}
	try(http.MethodPost, "localhost:1", "").requireError(http.StatusUnauthorized, -32001)
	a := try(http.MethodOptions, "", "https://inspector.example")
	require.Equal(t, http.StatusNoContent, a.status)
	require.Equal(t, "https://inspector.example", a.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Origin", a.header.Get("Vary"))
}

func TestWhatIsNotMCPIsToldWhy(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.MaxBody = 2000
	p := newPeer(t, g.Start().URL)
	bare := *p
	p.initialize()
	change := func(header, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(header, value) }
	}
	none := func(*http.Request) {}
	for _, tc := range []struct {
		name         string
		peer         *peer
		method, body string
		change       func(*http.Request)
		status, code int
	}{
		{"accepts only JSON", p, "POST", call(1, "echo", object{}), change("Accept", "application/json"), 406, -32000},
		{"accepts only streams", p, "POST", call(1, "echo", object{}), change("Accept", "text/event-stream"), 406, -32000},
		{"sends a form", p, "POST", "a=b", change("Content-Type", "application/x-www-form-urlencoded"), 415, -32000},
		{"says that it sends too much", p, "POST", call(1, "echo", object{"text": strings.Repeat("x", 2000)}), none, 413, -32000},
		{"sends too much without saying", p, "POST", call(1, "echo", object{"text": strings.Repeat("x", 2000)}), func(r *http.Request) { r.ContentLength = -1 }, 413, -32000},
		{"sends no JSON", p, "POST", "{", none, 400, -32700},
		{"sends nothing", p, "POST", "", change("Content-Type", "application/json"), 400, -32700},
		{"sends no JSON-RPC", p, "POST", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, none, 400, -32700},
		{"sends an id that is none", p, "POST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, none, 400, -32700},
		{"sends a response to nothing", p, "POST", `{"jsonrpc":"2.0","id":1}`, none, 400, -32700},
		{"sends an empty batch", p, "POST", `[]`, none, 400, -32600},
		{"initializes again", p, "POST", initializeBody("2025-11-25"), none, 400, -32600},
		{"initializes in a batch", &bare, "POST", "[" + initializeBody("2025-11-25") + "," + call(1, "echo", object{}) + "]", none, 400, -32600},
		{"has no session", &bare, "POST", call(1, "echo", object{}), none, 400, -32000},
		{"speaks another version", p, "POST", call(1, "echo", object{}), change("Mcp-Protocol-Version", "1999-01-01"), 400, -32022},
		{"listens without a session", &bare, "GET", "", none, 400, -32000},
		{"listens to JSON", p, "GET", "", change("Accept", "application/json"), 406, -32000},
		{"deletes by the modern protocol", &bare, "DELETE", "", change("Mcp-Protocol-Version", "2026-07-28"), 405, -32001},
		{"listens by the modern protocol", &bare, "GET", "", change("Mcp-Protocol-Version", "2026-07-28"), 405, -32001},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := tc.peer.request(t.Context(), tc.method, tc.body)
			tc.change(r)
			own := *tc.peer
			own.t = t
			a := own.do(r).requireError(tc.status, tc.code)
			require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
		})
	}
}

func TestAnOtherPathIsNotServed(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	r := g.Start()
	newPeer(t, r.URL+"/toolkits/x").post(initializeBody("2025-11-25")).requireError(http.StatusNotFound, -32001)
	newPeer(t, r.URL+"/agent").initialize()
}

// broken is a store whose rows cannot be read.
type broken struct{ mcpserver.Sessions }

func (broken) Lookup(context.Context, string) (store.Session, error) {
	return store.Session{}, &store.CorruptRowError{Table: "mcp_session", Column: "state", Cause: context.Canceled}
}

func TestCase56ADefectOfTheStoreIsAnInternalErrorAndReportedOnce(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	g.Sessions = func(s mcpserver.Sessions) mcpserver.Sessions { return broken{s} }
	defect := p.at(g.Start().URL)
	a := defect.post(call(1, "echo", object{})).requireError(http.StatusInternalServerError, -32603)
	require.Contains(t, a.body, "Internal server error")
	require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, 1, g.Logs.Count(`"level":"ERROR"`))
}

func TestAStoreOrWorkflowThatIsAwayIsToldAsSuch(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	g.Workflows.Fail(errDown)
	a := p.post(initializeBody("2025-11-25")).requireError(http.StatusServiceUnavailable, -32001)
	require.Equal(t, "2", a.header.Get("Retry-After"))
	require.NotContains(t, a.body, "disk")
	g.Workflows.Fail(nil)
	p.initialize()
}

func TestAHostThatRefusesOrFailsIsToldWithoutItsCause(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	g.Host.Resolve = func(context.Context, mcpserver.Meta) (mcpserver.Meta, error) {
		return mcpserver.Meta{}, &auth.ForbiddenError{Code: "no_role", Message: "You may not call tools."}
	}
	require.Contains(t, p.post(initializeBody("2025-11-25")).requireError(http.StatusForbidden, -32001).body, "You may not call tools.")
	g.Host.Resolve = func(context.Context, mcpserver.Meta) (mcpserver.Meta, error) { return mcpserver.Meta{}, errDown }
	require.NotContains(t, p.post(initializeBody("2025-11-25")).requireError(http.StatusInternalServerError, -32603).body, "disk")
	g.Host.Resolve = func(context.Context, mcpserver.Meta) (mcpserver.Meta, error) { panic("s3cr3t") }
	require.NotContains(t, p.post(initializeBody("2025-11-25")).requireError(http.StatusInternalServerError, -32603).body, "s3cr3t")
	g.Host.Resolve = nil
	p.initialize()
}

func TestASessionKeepsWhatItWasMadeWith(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL+"?elicitation_mode=browser")
	p.initialize()
	other := p.at(g.Start().URL)
	require.Equal(t, "x", result(t, other.post(call(1, "echo", object{"text": "x"})).body))
	metas := g.Host.Metas()
	require.Len(t, metas, 2)
	require.EqualValues(t, "browser", metas[1].Mode)
	require.Equal(t, metas[0].Origin, metas[1].Origin)
	require.Equal(t, p.session, metas[1].Session)
	require.Equal(t, "peer 1", metas[1].Client)
	require.Equal(t, metas[0], metas[1])
}

func TestAToolIsToldWhoAsksAndWhichRequestItServes(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	require.Regexp(t, `^token:ann `+p.session+`/[0-9a-f]+/"seven"$`, result(t, p.post(call("seven", "who", object{})).body))
}
