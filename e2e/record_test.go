//go:build record

package e2e_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// fakeToken is the only secret in what is recorded, and it must not be found there.
const fakeToken = "fixture-token-0123456789"

// scenario plays one story and says what is kept of it.
type scenario struct {
	// connection, engine and fleet are the names of the fixtures of the three workflows; empty keeps nothing.
	connection, engine, fleet string
	play                      func(t *testing.T, s *simulated)
	// ended is set where the workflows end by themselves.
	ended bool
}

// TestRecordReplayFixtures records the histories that later versions must replay: see internal/testkit/replay. It is
// built and run by `make record RELEASE=v1.2.3` alone.
func TestRecordReplayFixtures(t *testing.T) {
	t.Parallel()
	release := os.Getenv("HOLDFAST_RECORD")
	require.Regexp(t, `^v\d+\.\d+\.\d+$`, release, "HOLDFAST_RECORD names the release")
	for _, tc := range scenarios() {
		t.Run(tc.connection+tc.engine+tc.fleet, func(t *testing.T) {
			t.Parallel()
			s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{Token: fakeToken})
			tc.play(t, s)
			s.keep("connection", release, tc.connection, connection.ID(s.key), tc.ended)
			s.keep("engine", release, tc.engine, engine.ID(s.engineID()), tc.ended)
			s.keep("fleet", release, tc.fleet, fleet.ID(s.Config.Temporal.TaskQueue), tc.ended)
		})
	}
}

func scenarios() []scenario {
	return []scenario{
		{connection: "delivered", engine: "watching", play: func(_ *testing.T, s *simulated) { s.apply(fakeToken) }},
		{connection: "disposed_repaired", play: playDisposed},
		{connection: "endpoint_down_and_back", play: playEndpointDown},
		{connection: "engine_down_and_back", engine: "engine_down_and_back", play: playEngineDown},
		{connection: "busy_then_idle", play: playBusy},
		{connection: "mark_stale", play: playMarkStale},
		{connection: "desired_changed", play: playDesiredChanged},
		{connection: "refresh", play: playUpdates},
		{connection: "removed", engine: "ended", play: playRemoved, ended: true},
		{connection: "rolled_over", play: playRolledOver},
		{engine: "rolled_over", play: playWatchRolledOver},
		{fleet: "mended", play: playMended},
		{fleet: "new_run", play: playFleetRolledOver},
		{connection: "token_renewed", play: playTokenRenewed},
		{connection: "switched_off_and_on", play: playSwitched},
		{connection: "invalid_config", play: playInvalid},
		{connection: "auth_failed", play: playAuthFailed},
	}
}

func playDisposed(_ *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	s.engine.Dispose(s.key.Directory)
	s.AwaitRepaired(s.key, before, late)
}

func playEndpointDown(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	s.endpoint.Stop()
	s.AwaitState(s.key, delivery.Failed, late)
	require.NoError(t, s.endpoint.Start())
	s.AwaitState(s.key, delivery.Ready, late)
}

func playEngineDown(t *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	s.engine.Kill()
	s.AwaitState(s.key, delivery.Failed, late)
	require.NoError(t, s.engine.Restart())
	s.AwaitRepaired(s.key, before, late)
}

func playBusy(_ *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	s.engine.SetBusy(s.key.Directory, true)
	s.signal(connection.SignalMarkStale, connection.MarkStale{Reason: "while a session works"})
	s.Await(s.key, late, "waits for the engine", func(got connection.Snapshot) bool {
		return got.WaitingFor == connection.WaitingEngineIdle
	})
	s.engine.SetBusy(s.key.Directory, false)
	s.AwaitRepaired(s.key, before, late)
}

func playMarkStale(_ *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	s.signal(connection.SignalMarkStale, "by hand")
	before = s.AwaitRepaired(s.key, before, late)
	s.signal(connection.SignalMarkStale, nil)
	s.AwaitRepaired(s.key, before, late)
}

func playDesiredChanged(_ *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	s.Apply(s.recorded(3000))
	s.Await(s.key, late, "another revision", func(got connection.Snapshot) bool {
		return got.State == delivery.Ready && *got.AppliedRevision != *before.AppliedRevision
	})
}

func playUpdates(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	_, err := s.Connections.Refresh(t.Context(), s.key, "refresh", connection.Request{Trigger: "by hand"})
	require.NoError(t, err)
	_, err = s.Connections.Probe(t.Context(), s.key, "probe", connection.Request{})
	require.NoError(t, err)
	_, err = s.Connections.Reconcile(t.Context(), s.key, "reconcile", connection.Request{})
	require.NoError(t, err)
}

func playRemoved(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	_, err := s.Store.DeleteDesired(t.Context(), s.key)
	require.NoError(t, err)
	_, err = s.Connections.Remove(t.Context(), s.key, "remove", connection.Request{})
	require.NoError(t, err)
}

func playRolledOver(t *testing.T, s *simulated) {
	before := s.apply(fakeToken)
	_, err := s.Connections.Probe(t.Context(), s.key, "probe", connection.Request{})
	require.NoError(t, err)
	s.rollOver()
	_, err = s.Connections.Probe(t.Context(), s.key, "probe", connection.Request{})
	require.NoError(t, err)
	s.signal(connection.SignalMarkStale, nil)
	s.AwaitRepaired(s.key, before, late)
}

func playWatchRolledOver(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	id := engine.ID(s.engineID())
	testkit.Eventually(t, late, func() bool {
		require.NoError(t, s.Engines.Ensure(t.Context(), s.engineID()))
		return len(s.runs(id)) > 1
	}, "a second run")
}

func playMended(t *testing.T, s *simulated) {
	want := s.recorded(2000)
	want.Workspace, want.Name = "w-"+testkit.UniqueName(), "cloud"
	s.key = s.Put(want)
	require.NoError(t, s.fleet().ReconcileNow(t.Context()))
	s.AwaitState(s.key, delivery.Ready, late)
	_, err := s.Store.DeleteDesired(t.Context(), s.key)
	require.NoError(t, err)
	require.NoError(t, s.fleet().ReconcileNow(t.Context()))
	s.awaitEnded(s.key)
	testkit.Eventually(t, late, func() bool {
		got, err := s.fleet().Snapshot(t.Context())
		return err == nil && got.Closed == 1
	}, "the pass is over")
}

func playFleetRolledOver(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	id := fleet.ID(s.Config.Temporal.TaskQueue)
	testkit.Eventually(t, late, func() bool {
		require.NoError(t, s.fleet().ReconcileNow(t.Context()))
		return len(s.runs(id)) > 1
	}, "a second run")
}

func playTokenRenewed(t *testing.T, s *simulated) {
	tokens, err := simulator.NewTokenServer(simulator.TokenServerOptions{Lifetime: 8 * time.Second})
	require.NoError(t, err)
	t.Cleanup(tokens.Close)
	s.endpoint.SetAuthorize(tokens.Live)
	want := s.recorded(2000)
	want.Workspace, want.Name, want.Headers = "w-"+testkit.UniqueName(), "cloud", nil
	want.TokenSource = &desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: tokens.URL(), ClientID: "client", ClientSecret: "s3cret",
		MarginSeconds: 4,
	}
	s.key = s.Apply(want)
	before := s.AwaitState(s.key, delivery.Ready, late)
	before = s.AwaitRepaired(s.key, before, late)
	tokens.SetLifetime(time.Hour)
	s.AwaitRepaired(s.key, before, late)
}

func playSwitched(t *testing.T, s *simulated) {
	s.apply(fakeToken)
	intend := func(kind store.IntentKind, state delivery.State) {
		_, err := s.Store.PutIntent(t.Context(), store.Intent{Workspace: s.key.Workspace, Name: s.key.Name, Kind: kind})
		require.NoError(t, err)
		s.signal(connection.SignalDesiredChanged, connection.DesiredChanged{Trigger: string(kind)})
		s.AwaitState(s.key, state, late)
	}
	intend(store.IntentDisabled, delivery.Failed)
	intend(store.IntentEnabled, delivery.Ready)
}

func playInvalid(_ *testing.T, s *simulated) {
	want := s.recorded(2000)
	want.Workspace, want.Name, want.Directory = "w-"+testkit.UniqueName(), "cloud", ""
	want.URL = "ftp://endpoint.invalid/mcp"
	s.key = s.Apply(want)
	s.AwaitState(s.key, delivery.Failed, late)
}

func playAuthFailed(_ *testing.T, s *simulated) {
	s.apply(fakeToken)
	s.endpoint.Rotate("another")
	s.AwaitState(s.key, delivery.Failed, late)
}

func (s *simulated) recorded(timeoutMillis int) stack.Want {
	return stack.Want{
		Workspace: s.key.Workspace, Name: s.key.Name, Directory: s.key.Directory, EngineURL: s.engine.BaseURL(),
		URL: s.endpoint.URL(), TimeoutMillis: timeoutMillis, Headers: map[string]string{"Authorization": "Bearer " + fakeToken},
	}
}

func (s *simulated) engineID() string { return s.engine.BaseURL()[len("http://"):] }

// runs are the histories of all runs of a workflow, oldest first.
func (s *simulated) runs(workflowID string) []*historypb.History {
	s.TB.Helper()
	described, err := s.Temporal.DescribeWorkflow(s.TB.Context(), workflowID, "")
	require.NoError(s.TB, err)
	var runs []*historypb.History
	for run := described.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		events := s.events(workflowID, run)
		runs = append(runs, &historypb.History{Events: events})
		run = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return runs
}

// keep writes the fixtures of a workflow once it is at rest.
func (s *simulated) keep(pkg, release, name, workflowID string, ended bool) {
	s.TB.Helper()
	if name == "" {
		return
	}
	testkit.Eventually(s.TB, late, func() bool {
		if !ended {
			return s.attempts(workflowID) > 0
		}
		described, err := s.Temporal.DescribeWorkflow(s.TB.Context(), workflowID, "")
		return err == nil && described.WorkflowCloseTime != nil
	}, workflowID+" at rest")
	runs := s.runs(workflowID)
	for i, history := range runs {
		s.Unseal(history)
		file := name
		if len(runs) > 1 {
			file += "-" + strconv.Itoa(i+1)
		}
		require.NotContains(s.TB, history.String(), fakeToken)
		replay.Write(s.TB, replay.Path(filepath.Join("..", "workflows", pkg), release, file), history)
	}
}
