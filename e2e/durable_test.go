package e2e_test

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestHistoryIsWholeAndInOrderOverRunsAndLives(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	for range 2 {
		s.rollOver()
		require.NoError(t, s.Connections.MarkStale(t.Context(), s.key, "in another run"))
		before = s.AwaitRepaired(s.key, before, soon)
	}
	life := []delivery.State{
		delivery.Pending, delivery.Registering, delivery.Ready,
		delivery.Stale, delivery.Registering, delivery.Ready,
		delivery.Stale, delivery.Registering, delivery.Ready,
	}
	require.Equal(t, life, s.States(s.key))

	_, err := s.Connections.Remove(t.Context(), s.key, "remove", connection.Request{})
	require.NoError(t, err)
	testkit.Eventually(t, soon, func() bool { return !s.describe().Running }, "the workflow ends")
	life = append(life, delivery.NotDesired)
	require.Equal(t, life, s.States(s.key))

	require.NoError(t, s.Connections.Ensure(t.Context(), s.key, "", connection.DesiredChanged{Trigger: "again"}))
	s.AwaitState(s.key, delivery.Ready, soon)
	life = append(life, delivery.Pending, delivery.Registering, delivery.Ready)
	require.Equal(t, life, s.States(s.key))
}

func TestStockRequestsWithAndWithoutInputAreServed(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	cli, err := temporalclient.FindCLI(t.Context(), temporalclient.CLIOptions{NoBuild: true})
	require.NoError(t, err)
	stock := func(args ...string) {
		t.Helper()
		output := runCLI(t, cli.Path, append(args, "--workflow-id", connection.ID(s.key),
			"--address", s.Server.Address(), "--namespace", s.Server.Namespace())...)
		require.NotContains(t, output, "Error")
	}
	for _, input := range [][]string{nil, {"--input", `"by hand"`}, {"--input", `{"reason":"by hand"}`}} {
		stock(append([]string{"workflow", "signal", "--name", connection.SignalMarkStale}, input...)...)
		before = s.AwaitRepaired(s.key, before, soon)
	}
	stock("workflow", "signal", "--name", connection.SignalDesiredChanged)
	stock("workflow", "signal", "--name", connection.SignalEngineEvent)
	for _, query := range []string{
		connection.QuerySnapshot, connection.QueryHealth, connection.QueryTransitions, connection.QueryProjection,
	} {
		stock("workflow", "query", "--type", query)
	}
	stock("workflow", "query", "--type", connection.QuerySnapshot, "--input", `{"revision":"another"}`)
	// The CLI reads the answer of an update, which it can only with the codec endpoint: here it is sent by the client.
	for _, update := range []string{
		connection.UpdateProbe, connection.UpdateReconcile, connection.UpdateRefresh, connection.UpdateRemove,
	} {
		handle, err := s.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: connection.ID(s.key), UpdateName: update, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		require.NoError(t, err)
		require.NoError(t, handle.Get(t.Context(), nil))
	}
	testkit.Eventually(t, soon, func() bool { return !s.describe().Running }, "the workflow ends")
}

func TestWithNoWorkerListsAreReadAndQueriesSaySo(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	stop := s.StartWorker()
	want := s.apply("")
	stop()

	got := s.describe()
	require.True(t, got.Running)
	require.Equal(t, want.AppliedRevision, got.Snapshot.AppliedRevision)
	rows, err := s.Connections.List(t.Context(), connection.Filter{Workspace: s.key.Workspace})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, delivery.Ready, rows[0].Snapshot.State)

	asked := time.Now()
	_, err = s.Connections.Snapshot(t.Context(), s.key, nil)
	require.ErrorIs(t, err, connection.ErrNoWorker)
	require.Less(t, time.Since(asked), 15*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = s.Connections.Probe(ctx, s.key, "p", connection.Request{})
	require.ErrorIs(t, err, connection.ErrNoWorker)

	s.StartWorker()
	// The first questions may still go to the stopped worker's own queue until the server gives it up.
	s.AwaitState(s.key, delivery.Ready, late)
}

func TestAHealthyConnectionAddsNothingToItsHistory(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{PollInterval: time.Second}, simulator.EndpointOptions{})
	s.apply("")
	id := connection.ID(s.key)
	// The start of the engine's watch asks for one look; it is over when the look at rest is in its second try.
	testkit.Eventually(t, soon, func() bool { return s.attempts(id) >= 2 }, "at rest")
	before, tries := len(s.events(id, "")), s.attempts(id)
	testkit.Eventually(t, late, func() bool { return s.attempts(id) >= tries+10 }, "ten polls")
	after := len(s.events(id, ""))
	require.Equal(t, before, after, "ten polls add no event, so no workflow task either")
}

// attempts is how often the server has tried the one pending activity; 0 while the workflow is not at rest.
func (s *simulated) attempts(workflowID string) int32 {
	s.TB.Helper()
	described, err := s.Temporal.DescribeWorkflow(s.TB.Context(), workflowID, "")
	require.NoError(s.TB, err)
	res := described.RawResponse
	if len(res.GetPendingActivities()) != 1 || res.GetPendingWorkflowTask() != nil {
		return 0
	}
	return res.GetPendingActivities()[0].GetAttempt()
}

func TestARestartedTemporalServerGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	options := temporalclient.DevServerOptions{
		Headless: true, DataFile: filepath.Join(t.TempDir(), "temporal.db"),
	}
	server, err := stack.StartServer(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { endServer(t, server) })
	s := newSimulated(t, stack.Options{Server: server}, simulator.EndpointOptions{})
	before := s.apply("")

	endServer(t, server)
	s.engine.Dispose(s.key.Directory)
	_, port, err := net.SplitHostPort(server.Address())
	require.NoError(t, err)
	options.Port, err = strconv.Atoi(port)
	require.NoError(t, err)
	server, err = stack.StartServer(t.Context(), options)
	require.NoError(t, err)
	s.AwaitRepaired(s.key, before, late)
	require.Equal(t, []delivery.State{
		delivery.Pending, delivery.Registering, delivery.Ready, delivery.Stale, delivery.Registering, delivery.Ready,
	}, s.States(s.key))
}

func endServer(t *testing.T, server *temporalclient.DevServer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), late)
	defer cancel()
	require.NoError(t, server.Stop(ctx))
}
