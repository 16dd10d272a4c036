package mcpserver_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestAnIdleSessionSleepsAndWakesUnderItsID(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	var asked atomic.Int64
	g.Paused = func(context.Context, string) (int, error) { return 0, func() error { asked.Add(1); return nil }() }
	g.Settings.Limits.Idle, g.Settings.Limits.Paused, g.Settings.Limits.Running = time.Second, time.Hour, time.Hour
	r := g.Start()
	p := newPeer(t, r.URL)
	p.initialize()
	testkit.Eventually(t, within, func() bool { return r.Resident() == 0 }, "it sleeps")
	require.EqualValues(t, 1, asked.Load(), "one question for its leases")
	testkit.Eventually(t, within, func() bool { return g.Workflows.Touched("sleep") == 1 }, "the workflow hears of it")
	require.Equal(t, "x", result(t, p.post(call(1, "echo", object{"text": "x"})).body))
	require.Equal(t, 2, g.Host.Built())
}

func TestAPauseKeepsASessionAwakeAndSoDoesSilence(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	var asked atomic.Int64
	var paused atomic.Int64
	paused.Store(1)
	g.Paused = func(context.Context, string) (int, error) { asked.Add(1); return int(paused.Load()), nil }
	g.Settings.Limits.Idle, g.Settings.Limits.Paused, g.Settings.Limits.Running = 10*time.Millisecond, 500*time.Millisecond, time.Hour
	r := g.Start()
	p := newPeer(t, r.URL)
	p.initialize()
	testkit.Eventually(t, within, func() bool { return r.Resident() == 0 }, "past its limit it sleeps although it is paused")
	require.GreaterOrEqual(t, asked.Load(), int64(2))

	silent := mcpservertest.New(t)
	var vain atomic.Int64
	silent.Paused = func(context.Context, string) (int, error) { vain.Add(1); return 0, errors.New("no worker") }
	silent.Settings.Limits = g.Settings.Limits
	mute := silent.Start()
	q := newPeer(t, mute.URL)
	q.initialize()
	testkit.Eventually(t, within, func() bool { return vain.Load() > 0 }, "it is asked")
	require.Equal(t, 1, mute.Resident(), "who cannot tell destroys nothing")
}

func TestAHeldCallKeepsASessionAwake(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Limits.Idle, g.Settings.Limits.Paused, g.Settings.Limits.Running = 10*time.Millisecond, time.Hour, time.Hour
	r := g.Start()
	p := newPeer(t, r.URL)
	p.initialize()
	s := p.open(http.MethodPost, call(1, "hold", object{"gate": "g"}), "")
	s.next()
	require.Equal(t, 1, r.Resident())
	g.Host.Open("g")
	require.Equal(t, "released g", result(t, s.data().data))
}

func TestTheLongestIdleMakeRoom(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.MaxResident = 3
	r := g.Start()
	first := newPeer(t, r.URL)
	first.initialize()
	for range 5 {
		newPeer(t, r.URL).initialize()
		require.LessOrEqual(t, r.Resident(), 3)
	}
	require.Equal(t, "x", result(t, first.post(call(1, "echo", object{"text": "x"})).body))
}

func TestARuntimeOfASessionThatWasEndedElsewhereEnds(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.Settings.Timing.Sweep = 20 * time.Millisecond
	a, b := g.Start(), g.Start()
	p := newPeer(t, a.URL)
	p.initialize()
	listening := p.open(http.MethodGet, "", "")
	listening.next()
	require.Equal(t, http.StatusNoContent, p.at(b.URL).send(http.MethodDelete, "").status)
	listening.end()
	testkit.Eventually(t, within, func() bool { return a.Resident() == 0 }, "nothing of it is left")
}
