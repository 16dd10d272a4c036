package engine_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// counted is a proxy that knows how many connections to it are open.
type counted struct {
	*httptest.Server

	open atomic.Int32
}

func newCounted(t *testing.T, upstream string) *counted {
	t.Helper()
	target, err := url.Parse(upstream)
	require.NoError(t, err)
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(target))
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state { //nolint:exhaustive // the other states are between these
		case http.StateNew:
			c.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// A9: fifty deliveries of one name leave one client of ours, one canary, and no goroutine behind.
//
//nolint:paralleltest // it counts the goroutines of the whole process
func TestDeliveringAgainAndAgainLeavesNothingBehind(t *testing.T) {
	r := newRig(t, peers.Options{})
	front := newCounted(t, r.Engine.BaseURL())
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: front.URL})
	prober := endpoint.NewProber(r.Store, 5*time.Second)
	probes := endpoint.NewActivities(r.Resolver, prober)
	deliver := func() {
		r.deliver(t)
		got, err := peers.Try[endpoint.ProbeResult](t, probes, endpoint.ProbeName,
			endpoint.ProbeRequest{Key: r.key, Revision: r.revision})
		require.NoError(t, err)
		require.Nil(t, got.Failure)
	}
	for range 5 {
		deliver()
	}
	const times = 50
	connections, goroutines := front.open.Load(), runtime.NumGoroutine()
	for range times {
		deliver()
	}
	require.Len(t, r.Engine.Registrations(r.key.Directory), times+5)
	// The engine leaves a session behind at each registration; ours is the one beside them, made once.
	require.Equal(t, times+5+1, r.handshakes())
	require.LessOrEqual(t, front.open.Load(), connections+1)
	testkit.Eventually(t, soon, func() bool { return runtime.NumGoroutine() <= goroutines+5 }, "goroutines are as many as before")
}

func TestAnEngineThatMovedGetsOneNewClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	first := newCounted(t, r.Engine.BaseURL())
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: first.URL})
	r.rest(t, inSync)
	require.Positive(t, first.open.Load())
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: r.Engine.BaseURL()})
	r.rest(t, inSync)
	testkit.Eventually(t, soon, func() bool { return first.open.Load() == 0 }, "the old client's connections are closed")
}

// Two workers may push for one connection, when the server takes the first for lost.
func TestTwoWorkersPushOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	other := engine.NewActivities(engine.Params{
		Store: r.Store, Resolver: r.Resolver, Settings: engine.Settings{EngineTimeout: 2 * time.Second}, Now: r.Clock.Now,
	})
	t.Cleanup(other.Close)
	answer := make(chan struct{})
	r.Engine.Inject(simulator.RouteRegister, 1, simulator.Fault{Until: answer})
	in := engine.RegisterRequest{Key: r.key, Revision: r.revision, Generation: 1}
	results := make(chan error, 2)
	for _, activities := range []*engine.Activities{r.activities, other} {
		go func() {
			_, err := peers.NewEnvironment(activities).ExecuteActivity(engine.RegisterName, in)
			results <- err
		}()
	}
	peers.RequireNotDue(t, <-results)
	testkit.Eventually(t, soon, func() bool { return r.posts() == 1 }, "the other one pushes")
	close(answer)
	require.NoError(t, <-results)
	require.Equal(t, 1, r.posts())
}
