package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func delivered(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	key, _ := r.deliver(r.want(testkit.EverythingServer(t).MCPURL()))
	require.Equal(t, []delivery.State{delivery.Pending, delivery.Registering, delivery.Ready}, r.States(key))
	projection, err := r.Connections.Projection(t.Context(), key)
	require.NoError(t, err)
	require.True(t, projection.Usable)
	require.True(t, r.works(key))
}

func endpointDown(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	server := testkit.EverythingServer(t)
	key, before := r.deliver(r.want(server.MCPURL()))
	server.Kill()
	failed := r.AwaitState(key, delivery.Failed, unhurried)
	r.RequireDegraded(key)
	require.Equal(t, health.CodeEndpointUnreachable, failed.Failure.Code)
	require.Contains(t, failed.Failure.Cause(), "refused")
	require.Equal(t, engineapi.StatusConnected, r.status(key), "the engine does not notice")

	server.Restart()
	// The server has lost its sessions and says so with 400, which the engine does not heal by itself.
	r.AwaitRepaired(key, before, unhurried)
	require.True(t, r.works(key))
}

func endpointRestarted(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	server := testkit.EverythingServer(t)
	key, before := r.deliver(r.want(server.MCPURL()))
	server.Restart()
	require.False(t, r.works(key), "the engine's session is lost")
	require.Equal(t, engineapi.StatusConnected, r.status(key), "the engine does not notice")
	r.AwaitRepaired(key, before, unhurried)
	require.True(t, r.works(key))
}

func rotatedBearer(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	endpoint := scripted(t, simulator.EndpointOptions{Token: "first"})
	want := r.want(endpoint.URL())
	want.Headers = map[string]string{"Authorization": "Bearer first"}
	key, _ := r.deliver(want)

	endpoint.Rotate("second")
	failed := r.AwaitState(key, delivery.Failed, unhurried)
	require.Equal(t, health.CodeInvalidToken, failed.Failure.Code)
	require.False(t, failed.Failure.Retryable)
	asked := endpoint.Count(simulator.AnyRequest)
	testkit.Eventually(t, unhurried, func() bool { return r.looks(key) > 5 }, "five more looks")
	require.Equal(t, asked, endpoint.Count(simulator.AnyRequest), "nobody dials with a bearer that was refused")
	require.Equal(t, delivery.Failed, r.Snapshot(key).State)
	r.requireLastStates(key, delivery.Registering, delivery.Ready, delivery.Failed)

	want.Headers = map[string]string{"Authorization": "Bearer second"}
	r.Apply(want)
	r.AwaitState(key, delivery.Ready, unhurried)
	require.Equal(t, engineapi.StatusConnected, r.status(key))
}

// hanging is an endpoint that never answers, by any transport.
func hanging(t *testing.T) *simulator.Endpoint {
	t.Helper()
	endpoint := scripted(t, simulator.EndpointOptions{})
	endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	return endpoint
}

const hangTimeout = 1000

func hangingServerReplaced(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	silent := hanging(t)
	want := r.want(silent.URL())
	want.TimeoutMillis = hangTimeout
	key := r.Apply(want)
	testkit.Eventually(t, unhurried, func() bool { return silent.Count(simulator.AnyRequest) > 0 }, "the push is in flight")
	r.requireGoodClientStays(key, want, time.Now())
}

func abandonedPush(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{NoWorker: true})
	silent := hanging(t)
	want := r.want(silent.URL())
	want.TimeoutMillis = 3 * hangTimeout // longer than a worker takes to stop
	key := func() delivery.Key {
		stop := r.StartWorker()
		defer stop()
		key := r.Apply(want)
		testkit.Eventually(t, unhurried, func() bool { return silent.Count(simulator.AnyRequest) > 0 }, "the push is in flight")
		return key
	}()
	push, err := r.Store.LastPush(t.Context(), key)
	require.NoError(t, err)
	require.True(t, push.FinishedAt.IsZero(), "nobody waited for the push to end")
	r.StartWorker()
	r.requireGoodClientStays(key, want, push.StartedAt)
}

// requireGoodClientStays wants a good server instead of a hanging one and watches it until whatever was pushed earlier
// is surely over in the engine.
func (r *realStack) requireGoodClientStays(key delivery.Key, want stack.Want, pushedAt time.Time) {
	r.t.Helper()
	want.URL = testkit.EverythingServer(r.t).MCPURL()
	r.Apply(want)
	r.AwaitState(key, delivery.Ready, unhurried)
	timeout := time.Duration(want.TimeoutMillis) * time.Millisecond
	over := pushedAt.Add(4 * timeout)
	if soonest := time.Now().Add(timeout); over.Before(soonest) {
		over = soonest
	}
	untilPast(r.t, over, "the engine keeps the good client",
		func() bool { return r.status(key) == engineapi.StatusConnected })
	got, err := r.Connections.Probe(r.t.Context(), key, "after", connection.Request{})
	require.NoError(r.t, err)
	require.True(r.t, got.Usable, got.FirstFailure)
	require.True(r.t, r.works(key))
	r.requireLastStates(key, delivery.Registering, delivery.Ready)
}
