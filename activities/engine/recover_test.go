package engine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// hour lets the waits that looks ask for go by until an hour is over.
func (r *rig) hour(t *testing.T, reason string, edits ...func(*engine.InspectRequest)) {
	t.Helper()
	for end := r.Clock.Now().Add(time.Hour); r.Clock.Now().Before(end); {
		r.Clock.Advance(r.rest(t, reason, edits...))
	}
}

// A5
func TestAnEndpointThatRefusesUsIsAskedAtMostFourTimesAnHour(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync)
	r.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
	r.Clock.Advance(probeEvery)
	got := r.decide(t, engine.DecisionEndpointFailed)
	require.Equal(t, health.CodeInvalidToken, got.Failure.Code)
	before := r.Endpoint.Count(simulator.AnyRequest)
	r.hour(t, "waiting: invalid_mcp_token", failed(*got.Failure))
	require.LessOrEqual(t, r.Endpoint.Count(simulator.AnyRequest)-before, 4)
	require.Positive(t, r.Endpoint.Count(simulator.AnyRequest)-before, "an outside heal is noticed")

	r.Endpoint.ClearFaults()
	r.Clock.Advance(15 * time.Minute)
	r.decide(t, engine.DecisionEndpointHealthy, failed(*got.Failure))
}

func TestAnEndpointThatIsGoneIsAskedLessAndLessOften(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.PollInterval = time.Hour })
	r.deliver(t)
	r.Endpoint.Stop()
	gone := r.decide(t, engine.DecisionEndpointMissed)
	want := 2 * time.Second
	for range 12 {
		wait := r.rest(t, "waiting: mcp_endpoint_unreachable", failed(*gone.Failure))
		require.InDelta(t, want.Seconds(), wait.Seconds(), 0.2*want.Seconds()+0.1)
		misses := r.Peers.Probe(r.key).Misses
		for r.Peers.Probe(r.key).Misses == misses { // the spread is drawn anew by every look
			r.Clock.Advance(want / 4)
			r.rest(t, "waiting: mcp_endpoint_unreachable", failed(*gone.Failure))
		}
		want = min(2*want, 15*time.Minute)
	}
	require.Equal(t, 15*time.Minute, want)
}

func TestAnotherReasonIsADecisionAndTheSameIsNot(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Endpoint.Stop()
	gone := r.decide(t, engine.DecisionEndpointMissed)
	r.Clock.Advance(probeEvery)
	r.rest(t, "waiting: mcp_endpoint_unreachable", failed(*gone.Failure))
	require.NoError(t, r.Endpoint.Start())
	r.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
	r.Clock.Advance(probeEvery)
	got := r.decide(t, engine.DecisionEndpointFailed, failed(*gone.Failure))
	require.Equal(t, health.CodeInvalidToken, got.Failure.Code)
}

func TestAnEndpointBackWithoutItsSessionsIsNotTakenForHealed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{Endpoint: simulator.EndpointOptions{LostStatus: http.StatusBadRequest}})
	r.deliver(t)
	r.rest(t, inSync)
	r.Endpoint.Stop()
	r.Clock.Advance(probeEvery)
	gone := r.decide(t, engine.DecisionEndpointMissed)
	r.Endpoint.ForgetSessions()
	require.NoError(t, r.Endpoint.Start())
	r.Clock.Advance(probeEvery)
	r.decide(t, engine.DecisionSessionForgotten, failed(*gone.Failure))
}

func TestARefusalOfTheEngineIsDecidedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
	got := r.decide(t, engine.DecisionEngineDown)
	for range 3 {
		r.rest(t, "waiting: the engine refuses to answer", failed(*got.Failure), last("unreachable"))
	}
	r.Engine.ClearFaults()
	r.decide(t, engine.DecisionEntryConnected, failed(*got.Failure), last("unreachable"))
}

func TestAConflictIsWatchedUntilTheNameIsFree(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Configure(r.key.Directory, r.key.Name, map[string]any{"type": "remote", "url": r.Endpoint.URL()})
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeEngineConfigConflict)
	require.Equal(t, pollInterval, r.rest(t, "waiting: engine_config_conflict", failed(f), last("connected")))
	r.Engine.Configure(r.key.Directory, r.key.Name, nil)
	r.decide(t, engine.DecisionEntryGone, failed(f), last("connected"))
}

func TestAConflictThatIsOnlyASwitchByNowIsOver(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Configure(r.key.Directory, r.key.Name, map[string]any{"enabled": false})
	r.decide(t, engine.DecisionEntryGone, failed(health.ConfigConflict(r.key.Name)), last("missing"))
}

func TestAnEngineThatIsNamedAtLastIsADecision(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	nowhere := func(d *store.Desired) { d.EngineID = "" }
	r.revision = r.Want(r.key, nowhere)
	r.rest(t, "not delivered: the desired config is not valid", failed(health.EngineUnconfigured()))
	r.revision = r.Want(r.key)
	r.decide(t, engine.DecisionDesiredChanged, failed(health.EngineUnconfigured()))
}

func TestAnEngineWithAnUnusableAddressIsDecidedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: "ftp://engine"})
	got := r.decide(t, engine.DecisionEngineDown)
	require.Equal(t, health.CodeEngineUnconfigured, got.Failure.Code)
	r.rest(t, "waiting: no engine is configured", failed(*got.Failure))
}

func TestAFailureThatOnlyAnotherAttemptCanTellLeavesTheEndpointAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	before := r.Endpoint.Count(simulator.AnyRequest)
	r.hour(t, "waiting: opencode_mcp_sync_failed", failed(health.SyncFailed(true, "x")))
	require.Equal(t, before, r.Endpoint.Count(simulator.AnyRequest))
}

// retrying runs an inspection as the server does: tried again after the wait that it asks for, in skipped time.
func (r *rig) retrying(t *testing.T, in engine.InspectRequest, span time.Duration) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(soon)
	r.activities.Register(env)
	env.RegisterDelayedCallback(env.CancelWorkflow, span)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute,
			RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 1000},
		})
		return workflow.ExecuteActivity(ctx, engine.InspectName, in).Get(ctx, nil)
	})
	return env
}

func TestAnEngineThatDoesNotAnswerIsAskedLessAndLessOften(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.PollInterval = time.Hour })
	r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerStatus(http.StatusServiceUnavailable))
	down := health.EngineUnreachable(health.StageEngineDelivery, "connection refused")
	env := r.retrying(t, engine.InspectRequest{
		Key: r.key, Revision: r.revision, Mode: engine.ModeRecover, Failure: &down, Status: "unreachable",
	}, 10*time.Minute)
	require.True(t, env.IsWorkflowCompleted())
	// 1, 2, 4 … 32 s and then every minute: 15 looks of two reads each, more or less by the spread.
	looks := r.Engine.Calls(simulator.RouteStatus, "") / 2
	require.InDelta(t, 15, looks, 3)
}
