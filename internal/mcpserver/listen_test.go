package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

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
