package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestSimulatedClientInUseIsNotReplacedBeforeItsSessionIsIdle(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	s.engine.SetBusy(s.key.Directory, true)
	require.NoError(t, s.Connections.MarkStale(t.Context(), s.key, "distrusted"))
	s.Await(s.key, late, "waiting for the engine to be idle", func(got connection.Snapshot) bool {
		return got.State == delivery.Pending && got.WaitingFor == connection.WaitingEngineIdle
	})
	looked := s.engine.Calls(simulator.RouteSessionStatus, s.key.Directory)
	testkit.Eventually(t, late, func() bool {
		return s.engine.Calls(simulator.RouteSessionStatus, s.key.Directory) > looked+2
	}, "two more looks at the session")
	require.Equal(t, delivery.Pending, s.Snapshot(s.key).State)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
	_, err := s.engine.ToolCall(t.Context(), s.key.Directory, s.key.Name, "search_capabilities")
	require.NoError(t, err, "the client that is in use works on")

	s.engine.SetBusy(s.key.Directory, false)
	s.AwaitRepaired(s.key, before, late)
	require.Len(t, s.engine.Registrations(s.key.Directory), 2)
}

func TestSimulatedEndpointBackFromErrorsWithoutItsSessionsIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{LostStatus: http.StatusBadRequest})
	before := s.apply("")
	s.endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerHTML(http.StatusBadGateway))
	s.AwaitState(s.key, delivery.Failed, late)
	s.endpoint.ForgetSessions()
	s.endpoint.ClearFaults()
	s.AwaitRepaired(s.key, before, late)
	_, err := s.engine.ToolCall(t.Context(), s.key.Directory, s.key.Name, "search_capabilities")
	require.NoError(t, err, "the engine's own session works again")
}
