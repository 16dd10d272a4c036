package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// held waits until a gate has so many calls.
func held(t *testing.T, g *mcpservertest.Gateway, gate string, count int) {
	t.Helper()
	testkit.Eventually(t, within, func() bool { return len(g.Host.Calls(gate)) >= count }, "the call is held")
}

func undelivered(t *testing.T, g *mcpservertest.Gateway, session string) []store.Stream {
	t.Helper()
	streams, err := g.Store.UndeliveredStreams(t.Context(), session)
	require.NoError(t, err)
	return streams
}

func TestCase52AQuickAnswerIsPlainAndLeavesNothing(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Quick = within // however slow the machine is
	p := newPeer(t, g.Start().URL)
	p.initialize()
	a := p.post(call("a", "echo", object{"text": "x"}))
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Contains(t, a.body, `"id":"a"`)
	require.Empty(t, undelivered(t, g, p.session))
	running, err := g.Store.RunningStreams(t.Context(), p.session)
	require.NoError(t, err)
	require.Empty(t, running)
}

func TestCase52ALateAnswerIsAStreamThatCanBeReplayed(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(5, "hold", object{"gate": "g"}), "")
	for name, want := range map[string]string{"X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform", "Mcp-Session-Id": p.session} {
		require.Equal(t, want, s.response.Header.Get(name))
	}
	priming, _ := s.next()
	require.Regexp(t, `^[0-9a-f]+:0000000000000001$`, priming.id)
	require.True(t, priming.hasData)
	require.Empty(t, priming.data)
	require.Empty(t, priming.event)
	g.Host.Open("g")
	f := s.data()
	require.Equal(t, "released g", result(t, f.data))
	require.Contains(t, f.data, `"id":5`)
	require.Greater(t, f.id, priming.id)
	s.end()

	again := p.at(b.URL).open(http.MethodGet, "", priming.id)
	require.Equal(t, f, again.data())
	require.Equal(t, []string{"replay-complete"}, again.end())
	testkit.Eventually(t, within, func() bool { return len(undelivered(t, g, p.session)) == 0 }, "it is acknowledged")
}

func TestAnOlderClientIsPrimedWithAMessageThatItDoesNotTake(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.protocol = "2025-06-18"
	p.initialize()
	s := p.open(http.MethodPost, call(5, "hold", object{"gate": "g"}), "")
	priming, _ := s.next()
	require.Equal(t, "mcp-priming", priming.event)
	require.NotEmpty(t, priming.id)
	require.True(t, json.Valid([]byte(priming.data)))
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, s.data().data))
}

func TestProgressComesBeforeTheAnswerOnTheSameStream(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Quick = within
	p := newPeer(t, g.Start().URL)
	p.initialize()
	const steps = 200 // more than the log keeps
	s := p.open(http.MethodPost, call(1, "steps", object{"n": steps}), "")
	last := ""
	for i := range steps {
		f := s.data()
		require.Contains(t, f.data, fmt.Sprintf(`"progress":%d`, i+1))
		require.Greater(t, f.id, last)
		last = f.id
	}
	require.Equal(t, "done", result(t, s.data().data))
	s.end()
}

func TestCase55ACallOutlastsEveryQuietSpell(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Limits.Idle, g.Settings.Limits.Paused, g.Settings.Limits.Running = 50*time.Millisecond, 100*time.Millisecond, within
	g.Settings.Timing.KeepAlive = 20 * time.Millisecond
	p := newPeer(t, g.Start().URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	beats := 0
	for beats < 10 { // A14: bytes come all the while
		f, ok := <-s.frames
		require.True(t, ok)
		if f.comment == "keepalive" {
			beats++
		}
	}
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, s.data().data))
}

func TestATenMiBResultPassesPlainAndAsAStream(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Quick = within
	p := newPeer(t, g.Start().URL)
	p.initialize()
	const size = 10 << 20
	a := p.post(call(1, "big", object{"n": size}))
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Len(t, result(t, a.body), size)

	g.Settings.Timing.Quick = 10 * time.Millisecond
	elsewhere := p.at(g.Start().URL)
	s := elsewhere.open(http.MethodPost, call(1, "big", object{"n": size, "gate": "g"}), "")
	priming, _ := s.next()
	g.Host.Open("g")
	require.Len(t, result(t, s.data().data), size)
	again := elsewhere.open(http.MethodGet, "", priming.id)
	require.Len(t, result(t, again.data().data), size)
}

func TestABatchIsAnsweredAsOneOrOnOneStream(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.protocol = "2025-03-26"
	p.initialize()
	batch := "[" + call(1, "echo", object{"text": "one"}) + "," + call("2", "echo", object{"text": "two"}) + `,{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`
	a := p.post(batch)
	require.Equal(t, http.StatusOK, a.status)
	if a.header.Get("Content-Type") == "application/json" {
		var both []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(a.body), &both))
		require.Len(t, both, 2)
	}
	s := p.open(http.MethodPost, "["+call(1, "echo", object{"text": "one"})+","+call(2, "hold", object{"gate": "g"})+"]", "")
	require.Equal(t, "one", result(t, s.data().data))
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, s.data().data))
	s.end()
	p.post("["+call(1, "echo", object{})+","+call(1, "echo", object{})+"]").requireError(http.StatusBadRequest, -32600)
	require.Equal(t, http.StatusAccepted, p.post(`[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`).status)

	newer := newPeer(t, p.url)
	newer.initialize()
	newer.post(batch).requireError(http.StatusBadRequest, -32600)
}

func TestTwoRequestsWithOneIDAreAnsweredEachOnItsOwnStream(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	one := p.open(http.MethodPost, call(1, "hold", object{"gate": "a"}), "")
	two := p.open(http.MethodPost, call(1, "hold", object{"gate": "b"}), "")
	g.Host.Open("b")
	require.Equal(t, "released b", result(t, two.data().data))
	g.Host.Open("a")
	require.Equal(t, "released a", result(t, one.data().data))
}

func TestACancelledCallEndsAtTheReplicaThatHoldsIt(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	for i, url := range []string{a.URL, b.URL} {
		gate := fmt.Sprint("g", i)
		s := p.open(http.MethodPost, call(7, "hold", object{"gate": gate}), "")
		s.next()
		require.Equal(t, http.StatusAccepted,
			p.at(url).post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"enough"}}`).status)
		testkit.Eventually(t, within, func() bool { return g.Host.Cancelled(gate) == 1 }, "it is cancelled")
	}
	require.Equal(t, http.StatusAccepted, p.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`).status)
}

func TestAnAnswerToTheServersQuestionFindsTheReplicaThatAsked(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	for _, url := range []string{a.URL, b.URL} {
		s := p.open(http.MethodPost, call(1, "ask", object{"text": "your name?"}), "")
		var asked struct {
			ID     json.RawMessage
			Method string
		}
		require.NoError(t, json.Unmarshal([]byte(s.data().data), &asked))
		require.Equal(t, "elicitation/create", asked.Method)
		reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ann"}}}`, asked.ID)
		require.Equal(t, http.StatusAccepted, p.at(url).post(reply).status)
		require.Equal(t, "accept Ann", result(t, s.data().data))
	}
}
