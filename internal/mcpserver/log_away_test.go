package mcpserver_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

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
