package engine_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

const inSync = "in sync: connected"

// says scripts the engine's next answer about its servers.
func (r *rig) says(body string) {
	r.Engine.Inject(simulator.RouteStatus, 1, simulator.Fault{Status: http.StatusOK, Body: body})
}

func TestCase20ALookBetweenTwoProbesAsksTheEndpointNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync) // includes the first probe
	asked := r.Endpoint.Count(simulator.AnyRequest)
	r.Clock.Advance(pollInterval - time.Second)
	require.Equal(t, pollInterval, r.rest(t, inSync))
	require.Equal(t, asked, r.Endpoint.Count(simulator.AnyRequest))
}

func TestALookCostsOneCallOfTheEngine(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync)
	before := r.Engine.AllCalls("")
	r.rest(t, inSync)
	require.Equal(t, 1, r.Engine.AllCalls("")-before)
}

func TestCase21ALiveConnectedIsToldToWhoeverFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.decide(t, engine.DecisionEntryConnected, failed(health.SyncFailed(true, "timed out")), last("failed"))
}

func TestCase22ARefusedStatusReadIsNoUnreachableEngine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    int
		code      health.Code
		retryable bool
	}{
		{http.StatusInternalServerError, health.CodeEngineUnreachable, true},
		{http.StatusNotFound, health.CodeSyncFailed, false},
	} {
		t.Run(http.StatusText(tc.status), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{})
			r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerStatus(tc.status))
			got := r.decide(t, engine.DecisionEngineDown)
			require.Equal(t, tc.code, got.Failure.Code)
			require.Equal(t, tc.retryable, got.Failure.Retryable)
			require.Empty(t, got.Status)
		})
	}
}

func TestCase23ASlowEngineIsGivenUpInBoundedTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.EngineTimeout = 25 * time.Millisecond })
	r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	got := r.decide(t, engine.DecisionEngineDown)
	require.Equal(t, health.CodeEngineUnreachable, got.Failure.Code)
	require.Contains(t, got.Failure.Cause(), "no answer in time")
}

func TestAnEngineThatAnswersWithAPageIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerHTML(http.StatusOK))
	got := r.decide(t, engine.DecisionEngineDown)
	require.Equal(t, health.CodeEngineUnreachable, got.Failure.Code)
	require.Contains(t, got.Failure.Cause(), "not the expected answer")
	require.NotContains(t, got.Failure.Cause(), "<html")
}

func TestOneLostAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.Inject(simulator.RouteStatus, 1, simulator.AnswerStatus(http.StatusBadGateway))
	r.rest(t, inSync)
}

func TestCase24TheEnginesOwnHealthStopsNoInspection(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.Inject(simulator.RouteHealth, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	r.rest(t, inSync)
}

func TestCase25AnAbsentEntryIsMissingInTheEngine(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	got := r.decide(t, engine.DecisionEntryGone)
	require.Equal(t, health.CodeCloudMissing, got.Failure.Code)
	require.Equal(t, health.StageEngineDelivery, got.Failure.Stage)
	require.Equal(t, health.PhaseEngineMissing, health.PhaseOf(got.Failure))
	require.Zero(t, r.Endpoint.Count(simulator.AnyRequest))
}

func TestCase26EveryOtherStatusIsAFailureOfItsKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status    string
		code      health.Code
		retryable bool
	}{
		{"needs_auth", health.CodeNeedsAuth, false},
		{"disabled", health.CodeDisabled, false},
		{"needs_client_registration", health.CodeSyncFailed, false},
		{"sleeping", health.CodeSyncFailed, true},
		{"failed", health.CodeSyncFailed, true},
	} {
		t.Run(tc.status, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{})
			r.says(fmt.Sprintf(`{"cloud":{"status":%q}}`, tc.status))
			got := r.decide(t, engine.DecisionEntryStatus)
			require.Equal(t, tc.status, got.Status)
			require.Equal(t, tc.code, got.Failure.Code)
			require.Equal(t, tc.retryable, got.Failure.Retryable)
		})
	}
}

func TestCase27AFailedSiblingIsNoReasonToDoubt(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.says(`{"zzz":{"status":"failed","error":"fetch failed"},"cloud":{"status":"connected"}}`)
	r.rest(t, inSync)
}

func TestCase30AnInvalidStoredConfigStopsTheInspectionBeforeTheEngine(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.revision = r.Want(r.key, func(d *store.Desired) { d.Config.Enabled = nil })
	before := r.Engine.AllCalls("")
	require.Equal(t, pollInterval, r.rest(t, "not delivered: the desired config is not valid", failed(health.DesiredDisabled())))
	require.Equal(t, before, r.Engine.AllCalls(""))
}

func TestAnotherRevisionInTheStoreIsADecision(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	before := r.Engine.AllCalls("")
	r.Want(r.key, peers.Header("X-Version", "2"))
	r.decide(t, engine.DecisionDesiredChanged)
	_, err := r.Store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	r.decide(t, engine.DecisionDesiredChanged)
	require.Equal(t, before, r.Engine.AllCalls(""))
}

func TestCase35AMissedEndpointIsDegradedAndFailedOnlyAtTheSecondMiss(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync)
	well := r.Clock.Now()
	r.Endpoint.Stop()
	r.Clock.Advance(probeEvery)
	got := r.decide(t, engine.DecisionEndpointMissed)
	require.Equal(t, health.CodeEndpointUnreachable, got.Failure.Code)
	require.Equal(t, well.UTC(), got.Tools.LastOKAt.UTC())

	require.Equal(t, 5*time.Second, r.rest(t, inSync, degraded), "the second probe comes 5 s later, not a poll later")
	r.Clock.Advance(5 * time.Second)
	got = r.decide(t, engine.DecisionEndpointFailed, degraded)
	require.Equal(t, health.CodeEndpointUnreachable, got.Failure.Code)
	require.Equal(t, health.StageEngineDelivery, got.Failure.Stage)
	require.Contains(t, got.Failure.Cause(), "refused")
	require.Equal(t, well.UTC(), got.Tools.LastOKAt.UTC())

	require.NoError(t, r.Endpoint.Start())
	r.Clock.Advance(5 * time.Second)
	got = r.decide(t, engine.DecisionEndpointHealthy, degraded)
	require.Equal(t, r.Clock.Now().UTC(), got.Tools.LastOKAt.UTC())
	require.Equal(t, 1, r.posts())
}

func TestCase33AFailingListIsAFailureAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Endpoint.Inject(toolsList, simulator.Always, simulator.AnswerHTML(http.StatusBadGateway))
	got := r.decide(t, engine.DecisionEndpointFailed)
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.True(t, got.Failure.Retryable)
}

func TestCase34AMissingToolIsAFailureThatNoPushMends(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{Endpoint: simulator.EndpointOptions{Tools: []string{"search_capabilities"}}})
	r.revision = r.Want(r.key, peers.Expecting("search_capabilities", "execute_capability"))
	r.deliver(t)
	got := r.decide(t, engine.DecisionEndpointFailed)
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.False(t, got.Failure.Retryable)
	require.Equal(t, []string{"search_capabilities"}, got.Tools.Present)
	require.Equal(t, []string{"execute_capability"}, got.Tools.Missing)
	require.Equal(t, 1, r.posts())
}

// A10: a check that fails replaces the canary, whatever the status, and the engine's session is lost with it.
func TestAForgottenSessionIsNoticedWhateverTheStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404, 409, 410, 422, 500} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{Endpoint: simulator.EndpointOptions{LostStatus: status}})
			r.deliver(t)
			r.rest(t, inSync)
			r.Endpoint.ForgetSessions()
			r.Clock.Advance(probeEvery)
			if status == http.StatusNotFound { // the engine makes itself a new one
				r.rest(t, inSync)
			} else {
				r.decide(t, engine.DecisionSessionForgotten)
				r.Clock.Advance(probeEvery)
				r.decide(t, engine.DecisionSessionForgotten) // found again by whoever looks before the next push
				r.deliver(t)
				r.Clock.Advance(probeEvery)
				r.rest(t, inSync)
			}
			opened := r.handshakes()
			r.Clock.Advance(probeEvery)
			r.rest(t, inSync)
			require.Equal(t, opened, r.handshakes(), "the new canary is kept")
		})
	}
}

func TestWhoeverAsksGetsAnAnswerThatIncludesTheEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync)
	asked := r.Endpoint.Count(toolsList)
	got := r.decide(t, engine.DecisionInSync, once)
	require.Equal(t, asked+1, r.Endpoint.Count(toolsList))
	require.Len(t, got.Tools.Present, 2)
}

func TestLooksOfManyConnectionsAreSpread(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.Jitter = 0.1 })
	r.deliver(t)
	waits := map[time.Duration]bool{}
	for range 30 {
		wait := r.rest(t, inSync)
		require.InDelta(t, pollInterval.Seconds(), wait.Seconds(), pollInterval.Seconds()/10)
		waits[wait] = true
	}
	require.Greater(t, len(waits), 5)
}

func TestALookIsNeverAskedForSoonerThanTheServersGrain(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.PollInterval = time.Millisecond })
	r.deliver(t)
	require.Equal(t, time.Second, r.rest(t, inSync))
}

func TestACanaryThatIsDamagedStopsNoInspection(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.rest(t, inSync)
	r.Damage(`UPDATE connection_runtime SET canary = zeroblob(80)`)
	r.rest(t, inSync)
	r.Clock.Advance(probeEvery)
	r.rest(t, inSync)
	require.Equal(t, 3, r.handshakes(), "the engine's, the canary's, and the one that replaced it")
}

func TestACorruptRowIsDecidedOnceAndWatchedUntilItCanBeRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Damage(`UPDATE connection_desired SET config = zeroblob(80)`)
	got := r.decide(t, engine.DecisionEndpointFailed)
	require.Equal(t, health.CodeDesiredUnreadable, got.Failure.Code)
	require.Contains(t, got.Failure.Cause(), r.key.String())
	require.Equal(t, pollInterval, r.rest(t, "waiting: desired_config_unreadable", failed(*got.Failure)))
	r.Want(r.key)
	r.decide(t, engine.DecisionDesiredChanged, failed(*got.Failure))
}

func TestIdleWaitsForTheSessionsThatUseTheClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	require.Equal(t, time.Second, r.rest(t, "waiting: a session uses the client", idle))
	r.Engine.SetBusy(r.key.Directory, false)
	r.decide(t, engine.DecisionEngineIdle, idle)
	// Without a client there is nothing to spare.
	r.Engine.SetBusy(r.key.Directory, true)
	r.says(`{}`)
	r.decide(t, engine.DecisionEngineIdle, idle)
	r.Engine.Kill()
	r.decide(t, engine.DecisionEngineDown, idle)
}
