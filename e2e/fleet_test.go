package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// often is how often the fleet is compared in these tests.
func often() stack.Options { return stack.Options{Settings: map[string]string{"fleet.interval": "5s"}} }

func (s *simulated) fleet() *fleet.Client {
	return fleet.NewClient(s.Temporal, s.Config.Temporal.TaskQueue)
}

func TestTheFleetStartsWhatIsWantedAndDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, often(), simulator.EndpointOptions{})
	s.key = s.Put(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
	})
	s.AwaitState(s.key, delivery.Ready, soon)
	testkit.Eventually(t, soon, func() bool {
		watched, err := s.Engines.Running(t.Context(), s.engine.BaseURL()[len("http://"):])
		return err == nil && watched
	}, "the engine is watched")
	testkit.Eventually(t, soon, func() bool {
		got, err := s.fleet().Snapshot(t.Context())
		return err == nil && got.Started == 1 && got.Engines == 1
	}, "the fleet has counted both")
}

func TestTheFleetEndsWhatIsWantedNoMoreAndForgetsIt(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, often(), simulator.EndpointOptions{})
	before := s.apply("")
	require.Equal(t, delivery.Ready, before.State)
	_, err := s.Store.DeleteDesired(t.Context(), s.key)
	require.NoError(t, err)
	require.NoError(t, s.fleet().ReconcileNow(t.Context()))
	s.awaitEnded(s.key)
	_, err = s.engine.ToolCall(t.Context(), s.key.Directory, s.key.Name, "search_capabilities")
	require.Error(t, err, "it was taken out of the engine")
	testkit.Eventually(t, soon, func() bool {
		state, err := s.Store.Probe(t.Context(), s.key)
		return err == nil && state.LastProbeAt.IsZero()
	}, "nothing is left in the store")
}

func TestTheFleetLetsASessionFinishBeforeItEndsAConnection(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, often(), simulator.EndpointOptions{})
	s.apply("")
	s.engine.SetBusy(s.key.Directory, true)
	_, err := s.Store.PutIntent(t.Context(), store.Intent{Workspace: s.key.Workspace, Name: s.key.Name, Kind: store.IntentRemoved})
	require.NoError(t, err)
	require.NoError(t, s.fleet().ReconcileNow(t.Context()))
	testkit.Eventually(t, soon, func() bool {
		got, err := s.fleet().Snapshot(t.Context())
		return err == nil && got.Last != nil && got.Last.Result.InUse == 1
	}, "the fleet waits for the session")
	_, err = s.engine.ToolCall(t.Context(), s.key.Directory, s.key.Name, "search_capabilities")
	require.NoError(t, err, "the session's client works on")
	s.engine.SetBusy(s.key.Directory, false)
	s.awaitEnded(s.key)
}

func TestAFleetInOrderAddsNothingToAnyHistory(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, often(), simulator.EndpointOptions{})
	s.apply("")
	id := fleet.ID(s.Config.Temporal.TaskQueue)
	at := func() (attempts int32, events int) {
		d, err := s.fleet().Describe(t.Context())
		require.NoError(t, err)
		if strings.HasPrefix(d.Said, "in order: 1 ") {
			attempts = d.Attempts
		}
		for _, other := range []string{id, connection.ID(s.key), engine.ID(s.engine.BaseURL()[len("http://"):])} {
			events += len(s.events(other, ""))
		}
		return attempts, events
	}
	var before int
	testkit.Eventually(t, soon, func() bool {
		attempts, events := at()
		before = events
		return attempts > 1
	}, "the fleet is in order")
	require.NoError(t, s.fleet().Ensure(t.Context()), "as another worker does when it starts")
	var first int32
	testkit.Eventually(t, late, func() bool {
		attempts, events := at()
		if first == 0 {
			first = attempts
		}
		require.Equal(t, before, events)
		return attempts > first+1
	}, "two more passes")
}

// awaitEnded waits until the connection's workflow is over.
func (s *simulated) awaitEnded(key delivery.Key) {
	s.TB.Helper()
	testkit.Eventually(s.TB, late, func() bool {
		ctx, cancel := context.WithTimeout(s.TB.Context(), 10*time.Second)
		defer cancel()
		described, err := s.Temporal.DescribeWorkflow(ctx, connection.ID(key), "")
		return err == nil && described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	}, "the workflow has ended")
}
