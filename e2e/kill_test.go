package e2e_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

// killTimeout is that of a push, in milliseconds: a push in flight stays so while a slow machine kills the worker.
const killTimeout = 3000

// gate holds answers back until it is opened.
type gate struct{ opened chan struct{} }

func newGate() *gate {
	return &gate{opened: make(chan struct{})}
}

func (g *gate) fault() simulator.Fault { return simulator.Fault{Until: g.opened} }

func (g *gate) open() { close(g.opened) }

// passes is a fault that does nothing: it lets a request pass before those that are held.
var passes = simulator.Fault{}

// holdConnecting makes the endpoint slow for whoever connects, by either transport.
func holdConnecting(endpoint *simulator.Endpoint, g *gate) {
	endpoint.Inject("initialize", simulator.Always, g.fault())
	endpoint.Inject(simulator.GetStream, simulator.Always, g.fault())
}

// release ends the hold for requests under way and for those to come.
func release(endpoint *simulator.Endpoint, g *gate) {
	endpoint.ClearFaults()
	g.open()
}

func newSimulatedKill(t *testing.T, prepare func(*simulator.Engine, *simulator.Endpoint)) (*killed, *simulator.Engine, *simulator.Endpoint) {
	t.Helper()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	prepare(s.engine, s.endpoint)
	k := newKilled(t, s.Stack, s.endpoint, stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
		TimeoutMillis: killTimeout,
	})
	return k, s.engine, s.endpoint
}

func TestKilledBeforeThePush(t *testing.T) {
	t.Parallel()
	held := newGate()
	k, engine, _ := newSimulatedKill(t, func(engine *simulator.Engine, _ *simulator.Endpoint) {
		engine.Inject(simulator.RouteConfig, simulator.Always, held.fault())
	})
	k.eventually("the worker looks before it pushes", func() bool { return engine.Calls(simulator.RouteConfig, k.key.Directory) > 0 })
	k.worker.Kill()
	require.Empty(t, engine.Registrations(k.key.Directory))
	require.False(t, k.inFlight())
	engine.ClearFaults()
	held.open()
	k.finished()
	require.Len(t, engine.Registrations(k.key.Directory), 1)
}

func TestKilledWithThePushInFlight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fails bool
	}{
		{"which then succeeds", false},
		{"which then fails late", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			held := newGate()
			k, engine, endpoint := newSimulatedKill(t, func(_ *simulator.Engine, endpoint *simulator.Endpoint) {
				holdConnecting(endpoint, held)
			})
			k.eventually("the engine connects", func() bool { return endpoint.Count("initialize") > 0 })
			k.worker.Kill()
			require.True(t, k.inFlight())
			if tc.fails {
				k.eventually("the push fails in the engine", func() bool { return k.status() == engineapi.StatusFailed })
			}
			release(endpoint, held)
			k.eventually("the push is over", k.pushOver)
			k.finished()
			require.Len(t, engine.Registrations(k.key.Directory), 2, "what nobody saw the end of is pushed again")
		})
	}
}

func TestKilledAfterThePushBeforeTheStatusRead(t *testing.T) {
	t.Parallel()
	connecting, reading := newGate(), newGate()
	k, engine, endpoint := newSimulatedKill(t, func(_ *simulator.Engine, endpoint *simulator.Endpoint) {
		endpoint.Inject("tools/list", 1, connecting.fault())
	})
	k.eventually("the engine connects", func() bool { return endpoint.Count("tools/list") == 1 })
	engine.Inject(simulator.RouteStatus, simulator.Always, reading.fault())
	connecting.open()
	k.eventually("the push is answered", func() bool { return !k.inFlight() })
	k.worker.Kill()
	require.Equal(t, 1, endpoint.Count("tools/list"), "nobody has probed")
	engine.ClearFaults()
	reading.open()
	require.Equal(t, engineapi.StatusConnected, k.status())
	k.finished()
	require.Len(t, engine.Registrations(k.key.Directory), 2, "a push without a receipt is pushed again")
}

func TestKilledAfterThePushBeforeTheProbe(t *testing.T) {
	t.Parallel()
	held := newGate()
	k, engine, endpoint := newSimulatedKill(t, func(_ *simulator.Engine, endpoint *simulator.Endpoint) {
		endpoint.Inject("tools/list", 1, passes)
		endpoint.Inject("tools/list", simulator.Always, held.fault())
	})
	k.killBeforeProbe(endpoint, held)
	require.Len(t, engine.Registrations(k.key.Directory), 1, "what is proven is not pushed again")
}

// killBeforeProbe kills the worker while its probe, which comes after the engine's own question, gets no answer.
func (k *killed) killBeforeProbe(endpoint *simulator.Endpoint, held *gate) {
	k.t.Helper()
	k.eventually("the worker probes", func() bool { return endpoint.Count("tools/list") == 2 })
	k.worker.Kill()
	require.Equal(k.t, engineapi.StatusConnected, k.status())
	require.False(k.t, k.inFlight())
	release(endpoint, held)
	k.finished()
}

func newRealKill(t *testing.T, engine *testkit.Service, endpoint *simulator.Endpoint) *killed {
	t.Helper()
	r := newReal(t, engine, stack.Options{NoWorker: true})
	want := r.want(endpoint.URL())
	want.TimeoutMillis = killTimeout
	return newKilled(t, r.Stack, endpoint, want)
}

func TestRealEngineWorkerKilledBeforeThePush(t *testing.T) {
	t.Parallel()
	engine := engineOfItsOwn(t)
	endpoint := scripted(t, simulator.EndpointOptions{})
	// A frozen engine takes requests and answers none: the look before the push cannot end.
	require.NoError(t, syscall.Kill(-engine.Process().PID(), syscall.SIGSTOP))
	k := newRealKill(t, engine, endpoint)
	k.AwaitState(k.key, delivery.Registering, late)
	k.worker.Kill()
	require.Zero(t, endpoint.Count(simulator.AnyRequest))
	require.False(t, k.inFlight())
	require.NoError(t, syscall.Kill(-engine.Process().PID(), syscall.SIGCONT))
	k.finished()
	require.Equal(t, engineapi.StatusConnected, k.status())
}

func killedInFlight(t *testing.T, engine *testkit.Service) {
	endpoint, held := scripted(t, simulator.EndpointOptions{}), newGate()
	holdConnecting(endpoint, held)
	k := newRealKill(t, engine, endpoint)
	k.eventually("the engine connects", func() bool { return endpoint.Count("initialize") > 0 })
	k.worker.Kill()
	require.True(t, k.inFlight())
	release(endpoint, held)
	k.eventually("the push is over", k.pushOver)
	k.finished()
	require.Equal(t, engineapi.StatusConnected, k.status())
}

func killedBeforeProbe(t *testing.T, engine *testkit.Service) {
	endpoint, held := scripted(t, simulator.EndpointOptions{}), newGate()
	endpoint.Inject("tools/list", 1, passes)
	endpoint.Inject("tools/list", simulator.Always, held.fault())
	newRealKill(t, engine, endpoint).killBeforeProbe(endpoint, held)
}
