package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
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

func TestCase53WhatAClientDidNotWaitForIsDeliveredToItsNextGET(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "late"}), "")
	s.next()
	s.close()
	quick := p.open(http.MethodPost, call(2, "hold", object{"gate": "late"}), "")
	quick.close()
	held(t, g, "late", 2)
	g.Host.Open("late")
	testkit.Eventually(t, within, func() bool { return len(undelivered(t, g, p.session)) == 2 }, "both are stored")
	listening := p.at(b.URL).open(http.MethodGet, "", "")
	first, second := listening.data(), listening.data()
	require.Equal(t, "released late", result(t, first.data))
	require.NotEmpty(t, first.id)
	require.Equal(t, "released late", result(t, second.data))
	complete, _ := listening.next()
	require.Equal(t, "replay-complete", complete.comment)
	testkit.Eventually(t, within, func() bool { return len(undelivered(t, g, p.session)) == 0 }, "both are acknowledged")
	position, _ := listening.next()
	require.Equal(t, "_GET_stream:0000000000000000", position.id, "it goes on to listen")

	// With the last id of what was acknowledged a client only listens.
	again := p.at(b.URL).open(http.MethodGet, "", second.id)
	priming, _ := again.next()
	require.Regexp(t, `^_GET_stream:`, priming.id)
}

func TestAnOpenListenerGetsWhatNobodyElseReads(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	listening := p.open(http.MethodGet, "", "")
	listening.next()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "late"}), "")
	s.next()
	s.close()
	testkit.Eventually(t, within, func() bool { return p.post(call(9, "echo", object{"text": "x"})).status == http.StatusOK }, "the server sees the cut")
	g.Host.Open("late")
	// Where the server has not noticed the cut yet, the answer went to the dead socket, and stays for the next who asks.
	testkit.Eventually(t, within, func() bool { return len(undelivered(t, g, p.session)) > 0 || len(listening.frames) > 0 }, "it is stored")
}

func TestAGETTakesUpAStreamThatGoesOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "steps", object{"gate": "g", "n": 2}), "")
	priming, _ := s.next()
	require.Contains(t, s.data().data, `"progress":1`)
	second := s.data()
	s.close()
	elsewhere := p.at(b.URL).open(http.MethodGet, "", priming.id)
	require.Contains(t, elsewhere.data().data, `"progress":1`)
	require.Equal(t, second, elsewhere.data())
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, elsewhere.data().data))
	elsewhere.end()
	require.Len(t, g.Host.Calls("g"), 1, "it ran once")
}

func TestWhoReadsAStreamLastReadsItAlone(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	first := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	priming, _ := first.next()
	second := p.open(http.MethodGet, "", priming.id)
	require.Empty(t, first.end())
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, second.data().data))
	second.end()

	listening := p.open(http.MethodGet, "", "")
	listening.next()
	other := p.open(http.MethodGet, "", "")
	other.next()
	require.Empty(t, listening.end())
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

func TestLogsOfACallGoToItsStreamAndOthersToTheListener(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	require.Equal(t, http.StatusOK, p.at(b.URL).post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`).status)
	listening := p.open(http.MethodGet, "", "")
	priming, _ := listening.next()
	require.Equal(t, "_GET_stream:0000000000000000", priming.id)
	s := p.open(http.MethodPost, call(1, "note", object{"text": "hear"}), "") // at the replica that was not told the level
	require.Contains(t, s.data().data, `"data":"hear"`)
	require.Equal(t, "noted", result(t, s.data().data))
	f := listening.data()
	require.Contains(t, f.data, `"data":"beside hear"`)
	require.Equal(t, "_GET_stream:0000000000000001", f.id)

	missed := p.at(b.URL).open(http.MethodGet, "", priming.id)
	require.Equal(t, f, missed.data())
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

func TestA14AListenerSeesBytesAtOnce(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	s := p.open(http.MethodGet, "", "")
	f := <-s.frames
	require.Equal(t, "keepalive", f.comment)
	require.Equal(t, "no", s.response.Header.Get("X-Accel-Buffering"))
}

func TestCase54AListenerIsToldToComeAgainWhenItIsOld(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.MaxAge, g.Settings.Timing.KeepAlive = time.Millisecond, 20*time.Millisecond
	p := newPeer(t, g.Start().URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	s.next()
	old := p.open(http.MethodGet, "", "")
	for {
		f, ok := old.next()
		require.True(t, ok)
		if f.comment == "max-age rotation, reconnect" {
			break
		}
	}
	require.Empty(t, old.end())
	g.Host.Open("g") // the POST goes on
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

func TestACloseStreamIsTakenUpByAskingAgain(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	p := newPeer(t, g.Start().URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "later", object{"gate": "g"}), "")
	priming, _ := s.next()
	require.NotEmpty(t, priming.id)
	closing, _ := s.next()
	require.Equal(t, "10", closing.retry)
	require.Empty(t, s.end())
	again := p.open(http.MethodGet, "", priming.id)
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, again.data().data))
}

func TestWhoWasAskedToComeBackGetsTheAnswerAlthoughAnotherListens(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Host.Open("g")
	p := newPeer(t, g.Start().URL)
	p.initialize()
	require.Equal(t, http.StatusOK, p.post(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}`).status)
	listening := p.open(http.MethodGet, "", "")
	listening.next()
	s := p.open(http.MethodPost, call(1, "later", object{"gate": "g"}), "")
	priming, _ := s.next()
	s.end()
	testkit.Eventually(t, within, func() bool {
		stored, err := g.Store.Events(t.Context(), p.session, strings.Split(priming.id, ":")[0], 1, 1)
		require.NoError(t, err)
		return len(stored) > 0
	}, "the answer is stored")
	for _, text := range []string{"one", "two"} { // the listener goes on as if there were no answer
		p.open(http.MethodPost, call(2, "note", object{"text": text}), "").data()
		require.Contains(t, listening.data().data, "beside "+text)
	}
	require.Equal(t, "released g", result(t, p.open(http.MethodGet, "", priming.id).data().data))
}

// failing is a log that does not answer for a while.
type failing struct {
	*store.Store

	broken func() bool
}

var errDown = errors.New("the disk is away")

func (f failing) OpenStream(ctx context.Context, s store.Stream) error {
	if f.broken() {
		return errDown
	}
	return f.Store.OpenStream(ctx, s)
}

func (f failing) Answered(ctx context.Context, session, stream, request string, event store.Event) (int64, error) {
	if f.broken() {
		return 0, errDown
	}
	return f.Store.Answered(ctx, session, stream, request, event)
}

func TestAnAnswerStaysPlainWhileTheLogIsAway(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	var down atomic.Bool
	g.Wrap = func(s *store.Store) mcpserver.Log { return failing{s, down.Load} }
	g.Settings.Timing.Quick = time.Millisecond
	p := newPeer(t, g.Start().URL)
	p.initialize()
	down.Store(true)
	answered := make(chan answer, 1)
	go func() { answered <- p.post(call(1, "hold", object{"gate": "g"})) }()
	testkit.Eventually(t, within, func() bool { return g.Logs.Count("cannot be followed") > 0 }, "it is said that nothing can be stored")
	g.Host.Open("g")
	a := <-answered
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "released g", result(t, a.body))
}

func TestAResponseWaitsForALogThatIsAwayForAMoment(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	var down atomic.Bool
	var refused atomic.Int64
	g.Wrap = func(s *store.Store) mcpserver.Log {
		return failing{s, func() bool {
			if down.Load() {
				refused.Add(1)
			}
			return down.Load()
		}}
	}
	p := newPeer(t, g.Start().URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	s.next()
	down.Store(true)
	g.Host.Open("g")
	testkit.Eventually(t, within, func() bool { return refused.Load() > 0 }, "it is refused")
	down.Store(false)
	f := s.data()
	require.Equal(t, "released g", result(t, f.data))
	require.NotEmpty(t, f.id)
}

func TestCase54AClientThatDoesNotReadIsCutAndCanReadLater(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	r := g.Start()
	p := newPeer(t, r.URL)
	p.initialize()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const note = 1 << 20
	body := call(1, "steps", object{"n": 40, "text": strings.Repeat("x", note), "gate": "g"})
	response, err := p.client.Do(p.request(ctx, http.MethodPost, body))
	require.NoError(t, err)
	defer response.Body.Close()
	held(t, g, "g", 1) // all steps were told to nobody who reads
	g.Host.Open("g")
	testkit.Eventually(t, within, func() bool { return len(undelivered(t, g, p.session)) == 1 }, "the answer is stored")
	taken, err := io.Copy(io.Discard, response.Body)
	require.Error(t, err, "the body was cut")
	require.Less(t, taken, int64(40*note))
	again := p.open(http.MethodGet, "", "")
	for {
		if f := again.data(); !strings.Contains(f.data, "progress") {
			require.Contains(t, f.data, "released")
			return
		}
	}
}
