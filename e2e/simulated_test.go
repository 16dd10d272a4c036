package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	soon = 20 * time.Second
	// late is for what waits out a timeout on purpose.
	late = 90 * time.Second
)

// simulated is a stack with one simulated engine and one scripted endpoint.
type simulated struct {
	*stack.Stack

	engine   *simulator.Engine
	endpoint *simulator.Endpoint
	key      delivery.Key
}

func newSimulated(t *testing.T, o stack.Options, e simulator.EndpointOptions) *simulated {
	t.Helper()
	s := &simulated{Stack: stack.New(t, o)}
	var err error
	s.engine, err = simulator.NewEngine(simulator.EngineOptions{})
	require.NoError(t, err)
	t.Cleanup(s.engine.Close)
	s.endpoint, err = simulator.NewEndpoint(e)
	require.NoError(t, err)
	t.Cleanup(s.endpoint.Close)
	return s
}

// apply delivers the endpoint under the name "cloud" and waits until it is ready.
func (s *simulated) apply(token string) connection.Snapshot {
	s.TB.Helper()
	want := stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
		TimeoutMillis: 2000,
	}
	if token != "" {
		want.Headers = map[string]string{"Authorization": "Bearer " + token}
	}
	s.key = s.Apply(want)
	return s.AwaitState(s.key, delivery.Ready, soon)
}

func TestSimulatedDelivered(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	got := s.apply("")
	require.Equal(t, *got.DesiredRevision, *got.AppliedRevision)
	require.Equal(t, []delivery.State{delivery.Pending, delivery.Registering, delivery.Ready}, s.States(s.key))
	transitions, err := s.Connections.History(t.Context(), s.key)
	require.NoError(t, err)
	require.Equal(t, "apply", transitions[0].Trigger, "the history begins with who asked")
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestSimulatedDisposeIsRepairedByEventAndByPolling(t *testing.T) {
	t.Parallel()
	for _, blocked := range []bool{false, true} {
		name := map[bool]string{false: "events heard", true: "events blocked"}[blocked]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
			before := s.apply("")
			s.engine.BlockEvents(blocked)
			s.engine.Dispose(s.key.Directory)
			s.AwaitRepaired(s.key, before, soon)
			states := s.States(s.key)
			require.Equal(t, []delivery.State{delivery.Stale, delivery.Registering, delivery.Ready}, states[len(states)-3:])
		})
	}
}

func TestSimulatedEngineKilledAndStartedIsRepaired(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	s.engine.Kill()
	down := s.AwaitState(s.key, delivery.Failed, soon)
	require.Equal(t, health.CodeEngineUnreachable, down.Failure.Code)
	require.NoError(t, s.engine.Restart())
	s.AwaitRepaired(s.key, before, soon)
}

func TestSimulatedEndpointDownIsDegradedFailedAndReadyAgain(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	s.endpoint.Stop()
	failed := s.AwaitState(s.key, delivery.Failed, soon)
	s.RequireDegraded(s.key)
	require.Equal(t, health.CodeEndpointUnreachable, failed.Failure.Code)
	require.Contains(t, failed.Failure.Cause(), "refused")
	require.NoError(t, s.endpoint.Start())
	again := s.AwaitState(s.key, delivery.Ready, late)
	// The scripted endpoint keeps its sessions over Stop and Start: nothing had to be pushed.
	require.Equal(t, before.Generation, again.Generation)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestSimulatedEndpointThatForgetsWith400IsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{LostStatus: http.StatusBadRequest})
	before := s.apply("")
	s.endpoint.ForgetSessions()
	s.AwaitRepaired(s.key, before, soon)
	_, err := s.engine.ToolCall(t.Context(), s.key.Directory, s.key.Name, "search_capabilities")
	require.NoError(t, err, "the engine's own session works again")
}

func TestSimulatedRotatedBearerIsNamedOnceAndNotHammered(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{Token: "first"})
	s.apply("first")
	s.endpoint.Rotate("second")
	failed := s.AwaitState(s.key, delivery.Failed, soon)
	require.Equal(t, health.CodeInvalidToken, failed.Failure.Code)
	require.False(t, failed.Failure.Retryable)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestSimulatedManyDisposalsAreAllRepaired(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	for range 40 {
		s.engine.Dispose(s.key.Directory)
		before = s.AwaitRepaired(s.key, before, soon)
	}
	require.Len(t, s.engine.Registrations(s.key.Directory), 41, "one push a repair")
}
