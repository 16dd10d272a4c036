package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestCases1To5ASessionServesAnyClientOfItsIdentityAtAnyReplica(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	made := p.initialize() // cases 1 and 2
	require.Contains(t, strings.ToLower(made.header.Get("Access-Control-Expose-Headers")), "mcp-session-id")
	require.Contains(t, made.body, `"protocolVersion":"2025-11-25"`)
	row, err := g.Store.Session(t.Context(), p.session)
	require.NoError(t, err)
	require.Equal(t, approval.Identity{Account: "ann", Organisation: "default"}, row.Identity)
	require.Equal(t, "peer 1", row.Client)
	require.Equal(t, "2025-11-25", row.Protocol)

	for _, url := range []string{b.URL, a.URL, b.URL} { // case 3
		require.Contains(t, p.at(url).post(`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`).body, `"echo"`)
	}
	other := newPeer(t, b.URL) // case 4
	other.session = p.session
	answered := other.post(call(7, "echo", object{"text": "hi"}))
	require.Equal(t, "hi", result(t, answered.body))
	require.Equal(t, "application/json", answered.header.Get("Content-Type"))
	require.Equal(t, p.session, answered.header.Get("Mcp-Session-Id"))
	require.Equal(t, 2, g.Host.Built(), "one runtime for each replica")

	a.Kill() // case 5, and worse: nothing of its memory is left
	b.Kill()
	c := g.Start()
	answered = p.at(c.URL).post(call(8, "echo", object{"text": "again"}))
	require.Equal(t, http.StatusOK, answered.status)
	require.Equal(t, "again", result(t, answered.body))
}

func TestCase6AForgedSessionIsNotFound(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	for _, id := range []string{strings.Repeat("a", 64), "short", strings.Repeat("Z", 64)} {
		p.session = id
		a := p.post(call(1, "echo", object{})).requireError(http.StatusNotFound, -32001)
		require.Contains(t, a.body, "Session not found")
		p.send(http.MethodGet, "").requireError(http.StatusNotFound, -32001)
		p.send(http.MethodDelete, "").requireError(http.StatusNotFound, -32001)
	}
	require.Zero(t, g.Host.Built())
}

func TestCase7AnotherAccountIsRefusedBeforeAnyEffect(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	first := g.Start()
	p := newPeer(t, first.URL)
	p.initialize()
	second := g.Start()
	for _, stranger := range []string{"bob", "ann@elsewhere"} {
		s := p.at(second.URL).as(stranger)
		s.post(call(1, "echo", object{"text": "x"})).requireError(http.StatusForbidden, -32003)
		s.send(http.MethodGet, "").requireError(http.StatusForbidden, -32003)
		s.send(http.MethodDelete, "").requireError(http.StatusForbidden, -32003)
		s.post(initializeBody("2025-11-25")).requireError(http.StatusForbidden, -32003)
	}
	require.Equal(t, 1, g.Host.Built(), "nobody woke it")
	require.Equal(t, "mine", result(t, p.at(second.URL).post(call(1, "echo", object{"text": "mine"})).body))
}

func TestCase8ADeletedSessionIsGoneAtOnceEverywhere(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	require.Equal(t, "x", result(t, p.at(b.URL).post(call(1, "echo", object{"text": "x"})).body))
	require.Equal(t, http.StatusNoContent, p.send(http.MethodDelete, "").status)
	for _, url := range []string{a.URL, b.URL} {
		answered := p.at(url).post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).requireError(http.StatusNotFound, -32001)
		require.Contains(t, answered.body, "Session timed out, please reconnect")
		p.at(url).send(http.MethodDelete, "").requireError(http.StatusNotFound, -32001)
	}
}

func TestCase9DeletingNothingMakesNothing(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	require.Equal(t, http.StatusNoContent, p.send(http.MethodDelete, "").status)
	require.Zero(t, g.Host.Built())
}

func TestCase10ASessionWithoutResourceIsTheDefaultOnes(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	row, err := g.Store.Session(t.Context(), p.session)
	require.NoError(t, err)
	require.Equal(t, "default", row.Resource)

	row.ID, row.Resource = strings.Repeat("1", 64), ""
	require.NoError(t, g.Store.PutSession(t.Context(), row))
	p.session = row.ID
	require.Equal(t, "x", result(t, p.post(call(1, "echo", object{"text": "x"})).body))
	agent := p.at(strings.Replace(p.url, "/mcp", "/mcp/agent", 1))
	require.Equal(t, "x", result(t, agent.post(call(1, "echo", object{"text": "x"})).body))

	row.ID, row.Resource = strings.Repeat("2", 64), "toolkit:other"
	require.NoError(t, g.Store.PutSession(t.Context(), row))
	p.session = row.ID
	p.post(call(1, "echo", object{})).requireError(http.StatusForbidden, -32003)
}

func TestCases11And12WhoCannotBeToldOrMayNotComeInLeavesTheSessionAsItIs(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	down := p.as("down").post(call(1, "echo", object{})).requireError(http.StatusServiceUnavailable, -32001)
	require.Equal(t, "2", down.header.Get("Retry-After"))
	p.as("denied").post(call(1, "echo", object{})).requireError(http.StatusForbidden, -32001)
	p.as("denied").send(http.MethodDelete, "").requireError(http.StatusForbidden, -32001)
	require.Equal(t, "still", result(t, p.post(call(1, "echo", object{"text": "still"})).body))
}

func TestCase57WhoIsNotLetInIsToldWhereToAsk(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	const where = `resource_metadata="http://gateway/.well-known/oauth-protected-resource/mcp"`
	none := p.as("").post(initializeBody("2025-11-25")).requireError(http.StatusUnauthorized, -32001)
	require.Contains(t, none.header.Get("WWW-Authenticate"), where)
	require.NotContains(t, none.header.Get("WWW-Authenticate"), "error=")
	require.Contains(t, none.header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate")
	require.Contains(t, none.body, "no token was sent")
	bad := p.as("bad").post(initializeBody("2025-11-25")).requireError(http.StatusUnauthorized, -32001)
	require.Contains(t, bad.header.Get("WWW-Authenticate"), where)
	require.Contains(t, bad.header.Get("WWW-Authenticate"), `error="invalid_token"`)
	require.Contains(t, bad.body, "the token that was sent is not valid")
	for _, said := range []answer{none, bad} {
		require.Contains(t, said.body, "Authorization: Bearer TOKEN")
		require.Contains(t, said.body, "holdfast token create")
		require.Contains(t, said.body, "the URL in WWW-Authenticate")
		require.NotContains(t, said.body, "bad", "what was shown is never told")
	}
}

func TestManyWhoWakeASessionShareOneRestore(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	waking := p.at(g.Start().URL)
	answers := make(chan answer, 20)
	for i := range cap(answers) {
		go func() { answers <- waking.post(call(i, "echo", object{"text": "x"})) }()
	}
	for range cap(answers) {
		require.Equal(t, http.StatusOK, (<-answers).status)
	}
	require.Equal(t, 2, g.Host.Built())
	testkit.Eventually(t, within, func() bool { return g.Workflows.Touched("wake") == 1 }, "the workflow hears of the waking")
}
