package connection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func startOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: connection.ID(key), TaskQueue: "test"}
}

func TestAConnectionIsDeliveredVerifiedAndThenOnlyWatched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(10*time.Minute, func() {
		require.Equal(t, []string{"pending", "registering", "ready"}, w.states())
		require.Len(t, w.registers, 1)
		require.Equal(t, 1, w.probes)
		require.GreaterOrEqual(t, len(w.looks), 19, "the server retries the look")
		s := w.snapshot()
		require.Equal(t, "r1", *s.AppliedRevision)
		h := w.health()
		require.True(t, h.Usable)
		require.Equal(t, health.PhaseReady, h.Phase)
		require.Nil(t, h.FirstFailure)
	})
	w.run(11 * time.Minute)
}

func TestCase25NothingWantedIsNotDesiredAndMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wanted.Present = false
	w.at(time.Minute, func() {
		require.Equal(t, delivery.NotDesired, w.snapshot().State)
		h := w.health()
		require.Equal(t, health.CodeCloudMissing, h.FirstFailure.Code)
		require.Equal(t, health.StageDesiredConfig, h.FirstFailure.Stage)
		require.Equal(t, health.PhaseMissingDesired, h.Phase)
		require.Empty(t, w.registers)
	})
	w.run(2 * time.Minute)
}

func TestALostEntryIsMarkedStaleAndDeliveredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionEntryGone, Status: "missing"}) })
	w.at(3*time.Minute, func() {
		require.Equal(t, []string{"pending", "registering", "ready", "stale", "registering", "ready"}, w.states())
		require.Len(t, w.registers, 2)
		require.Greater(t, w.registers[1].Generation, w.registers[0].Generation)
		require.False(t, w.registers[1].Proven)
	})
	w.run(4 * time.Minute)
}

func TestABusyEngineIsWaitedForAndNotPushedInto(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		w.onRegister = nil
		return engine.RegisterResult{Outcome: engine.RegisterEngineBusy, Status: "connected"}, nil
	}
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		require.Equal(t, engine.ModeIdle, in.Mode)
		return engine.InspectResult{}, apperr.NotDue("waiting: a session uses the client", 5*time.Second)
	}
	w.at(20*time.Second, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Pending, s.State)
		require.Equal(t, connection.WaitingEngineIdle, s.WaitingFor)
		w.once(engine.InspectResult{Decision: engine.DecisionEngineIdle, Status: "connected"})
	})
	w.at(time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(2 * time.Minute)
}

func TestAnUnreachableEndpointFailsWithTheTrueReasonAndHealsByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = rejected("SSE error: Unable to connect. Is the computer able to access the url?")
	w.onProbe = unreachable
	w.at(time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeEndpointUnreachable, s.Failure.Code)
		require.True(t, s.Failure.Retryable)
		require.Len(t, w.registers, 1, "no push while nobody can reach the endpoint")
		w.set(func() { w.onRegister, w.onProbe = nil, nil })
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointHealthy, Status: "failed"})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.registers, 2, "without a receipt it is delivered first")
	})
	w.run(3 * time.Minute)
}

func rejected(text string) func(engine.RegisterRequest) (engine.RegisterResult, error) {
	return func(engine.RegisterRequest) (engine.RegisterResult, error) {
		return engine.RegisterResult{
			Outcome: engine.RegisterRejected, Status: "failed", Failure: health.FromEngineStatus("failed", text),
		}, nil
	}
}

func TestAPushThatFailsWhileTheEndpointIsWellIsTriedAgainWithBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = rejected("SSE error: Non-200 status code (401)")
	w.at(10*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeSyncFailed, s.Failure.Code, "the engine's text is not believed when the endpoint is well")
		require.True(t, s.Failure.Retryable)
		require.Equal(t, connection.WaitingRetry, s.WaitingFor)
		n := len(w.registers)
		require.GreaterOrEqual(t, n, 7)
		require.LessOrEqual(t, n, 12)
		w.set(func() { w.onRegister = nil })
	})
	w.at(40*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(41 * time.Minute)
}

func TestCase44ALaterConnectedCompletesThePushWithoutAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = rejected("Operation timed out after 5000ms")
	w.onProbe = unreachable
	w.at(time.Second, func() {
		w.set(func() { w.onProbe = nil })
		w.once(engine.InspectResult{Decision: engine.DecisionEntryConnected, Status: "connected"})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.registers, 1)
	})
	w.run(3 * time.Minute)
}

func TestAnAuthFailureIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = rejected("SSE error: Non-200 status code (401)")
	w.onProbe = refused
	w.at(6*time.Hour, func() {
		s := w.snapshot()
		require.Equal(t, health.CodeInvalidToken, s.Failure.Code)
		require.False(t, s.Failure.Retryable)
		require.Nil(t, s.NextAttemptAt)
		require.Len(t, w.registers, 1)
		require.Equal(t, 1, w.probes)
		require.Equal(t, health.PhaseEngineNeedsAuth, w.health().Phase)
	})
	w.run(7 * time.Hour)
}

func TestAMissedEndpointIsDegradedThenFailedAndHealsWithoutAPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointUnreachable("connection refused", nil)
	w.at(time.Minute, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointMissed, Status: "connected", Failure: &f})
	})
	w.at(95*time.Second, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Ready, s.State)
		require.NotNil(t, s.Degraded)
		require.True(t, w.looks[len(w.looks)-1].Degraded)
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointFailed, Status: "connected", Failure: &f})
	})
	w.at(3*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, "r1", *s.AppliedRevision)
		require.Nil(t, s.Degraded)
		require.True(t, w.looks[len(w.looks)-1].Proven)
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointHealthy, Status: "connected"})
	})
	w.at(5*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.registers, 1)
	})
	w.run(6 * time.Minute)
}

func TestAnEngineThatComesBackWithTheEntryIsNotPushedTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down := health.EngineUnreachable(health.StageEngineDelivery, "connection refused")
	w.at(time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionEngineDown, Failure: &down}) })
	w.at(2*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeEngineUnreachable, s.Failure.Code)
		require.Equal(t, health.PhaseEngineUnreachable, w.health().Phase)
		require.Equal(t, "unreachable", w.health().Engine.Status)
		w.once(engine.InspectResult{Decision: engine.DecisionEntryConnected, Status: "connected"})
	})
	w.at(4*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.registers, 1)
		require.Equal(t, 2, w.probes, "it is verified before it is called ready")
	})
	w.run(5 * time.Minute)
}

func TestMarkStaleRegistersFromScratchAndNeedsNoInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		w.env.SignalWorkflow(connection.SignalMarkStale, connection.MarkStale{Reason: "rotated by hand"})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, []string{"pending", "registering", "ready", "stale", "registering", "ready"}, w.states())
		require.Len(t, w.registers, 2)
	})
	w.run(3 * time.Minute)
}

func TestAnEngineEventCountsOnlyForTheCurrentGeneration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		generation := w.registers[0].Generation
		w.env.SignalWorkflow(connection.SignalEngineEvent, connection.EngineEvent{Generation: generation, Reason: "disposed"})
	})
	w.at(2*time.Minute, func() {
		require.Len(t, w.registers, 2)
		old := w.registers[0].Generation
		w.env.SignalWorkflow(connection.SignalEngineEvent, connection.EngineEvent{Generation: old, Reason: "disposed, heard late"})
	})
	w.at(3*time.Minute, func() {
		require.Len(t, w.registers, 2)
		require.Equal(t, delivery.Ready, w.snapshot().State)
	})
	w.run(4 * time.Minute)
}

func TestAnotherDesiredConfigIsDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		w.set(func() { w.wanted.Revision = "r2" })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r2", Trigger: "apply"})
	})
	w.at(2*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Ready, s.State)
		require.Equal(t, "r2", *s.AppliedRevision)
		require.Equal(t, "apply", *s.Trigger)
		require.Equal(t, "r2", w.registers[1].Revision)
		// Somebody who still wants the old one is told that it is not applied.
		value, err := w.env.QueryWorkflow(connection.QuerySnapshot, connection.SnapshotRequest{Revision: ptr("r1")})
		require.NoError(t, err)
		var other connection.Snapshot
		require.NoError(t, value.Get(&other))
		require.Equal(t, delivery.Pending, other.State)
		require.Nil(t, other.AppliedRevision)
	})
	w.run(3 * time.Minute)
}

func ptr[T any](v T) *T { return &v }

func TestAForeignDisableIsDeliveredOnceAndThenRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	disabled := engine.InspectResult{Decision: engine.DecisionEntryStatus, Status: "disabled"}
	w.at(time.Minute, func() { w.once(disabled) })
	w.at(3*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.registers, 2)
		w.once(disabled)
	})
	w.at(5*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeDisabled, s.Failure.Code)
		require.Len(t, w.registers, 2)
	})
	w.run(time.Hour)
}

func TestCase30AnInvalidStoredConfigIsNotDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointInvalid("no usable URL")
	w.wanted.Failure = &f
	w.at(time.Hour, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeEndpointInvalid, s.Failure.Code)
		require.Equal(t, health.StageDesiredConfig, s.Failure.Stage)
		require.False(t, w.health().Usable)
		require.Empty(t, w.registers)
	})
	w.run(2 * time.Hour)
}

func TestAnInvalidConfigIsNotLeftStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointInvalid("no usable URL")
	w.wanted.Failure = &f
	w.at(time.Minute, func() { w.env.SignalWorkflow(connection.SignalMarkStale, nil) })
	w.at(2*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeEndpointInvalid, s.Failure.Code)
		require.Empty(t, w.registers)
	})
	w.run(3 * time.Minute)
}

func TestAMissDoesNotTakeTheToolsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointUnreachable("connection refused", nil)
	w.at(time.Minute, func() {
		w.once(engine.InspectResult{
			Decision: engine.DecisionEndpointMissed, Status: "connected", Failure: &f, Tools: &engine.Tools{},
		})
	})
	w.at(2*time.Minute, func() {
		require.NotNil(t, w.snapshot().Degraded)
		require.Equal(t, []string{"echo"}, w.health().Tools.Present)
	})
	w.run(3 * time.Minute)
}

func TestAnUnreadableConfigIsShownAndReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.loadErr = apperr.Failed(health.DesiredUnreadable(true, "database is locked"), nil)
	w.at(30*time.Second, func() {
		require.Equal(t, health.CodeDesiredUnreadable, w.health().FirstFailure.Code)
		require.Empty(t, w.registers)
		w.set(func() { w.loadErr = nil })
	})
	w.at(5*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(6 * time.Minute)
}

func TestAnEndpointThatFailsVerificationIsNeverReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onProbe = func() endpoint.ProbeResult {
		f := health.ToolsMissing(false, []string{"execute_capability"}, "a tool is missing")
		return endpoint.ProbeResult{Failure: &f, Missing: []string{"execute_capability"}}
	}
	w.at(time.Hour, func() {
		require.Equal(t, []string{"pending", "registering", "failed"}, w.states())
		require.Len(t, w.registers, 1, "case 34: no registration mends a missing tool")
	})
	w.run(2 * time.Hour)
}

func TestAForgottenSessionIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionSessionForgotten, Status: "connected"})
	})
	w.at(3*time.Minute, func() {
		require.Len(t, w.registers, 2)
		require.Equal(t, delivery.Ready, w.snapshot().State)
	})
	w.run(4 * time.Minute)
}

func TestASessionLostMeanwhileIsNotVerifiedButDeliveredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lost := false
	w.onRegister = func(in engine.RegisterRequest) (engine.RegisterResult, error) {
		if in.Proven {
			return engine.RegisterResult{Outcome: engine.RegisterAlreadyProven, Status: "connected"}, nil
		}
		lost = false
		return delivered(), nil
	}
	w.onProbe = func() endpoint.ProbeResult {
		res := well()
		res.SessionLost = lost
		return res
	}
	w.at(time.Minute, func() {
		w.set(func() { lost = true })
		f := health.SyncFailed(true, "http 502")
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointFailed, Status: "connected", Failure: &f})
	})
	w.at(5*time.Minute, func() {
		require.Equal(t, []string{
			"pending", "registering", "ready", "failed", "registering", "stale", "registering", "ready",
		}, w.states())
		require.Len(t, w.registers, 3)
	})
	w.run(6 * time.Minute)
}

func TestAnEventAboutWhatADeliveryReplacesIsALookAndNotASecondDelivery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(in engine.RegisterRequest) (engine.RegisterResult, error) {
		w.env.SignalWorkflow(connection.SignalEngineEvent,
			connection.EngineEvent{Generation: in.Generation, Reason: "seen before the push"})
		return delivered(), nil
	}
	w.at(time.Minute, func() {
		require.Equal(t, []string{"pending", "registering", "ready"}, w.states())
		require.Len(t, w.registers, 1)
		require.True(t, w.looks[0].Once, "whether the entry is well is looked at")
	})
	w.run(2 * time.Minute)
}

func TestWorkersThatDisagreeOnARevisionDoNotSpin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		return engine.RegisterResult{Outcome: engine.RegisterDesiredChanged}, nil
	}
	w.at(time.Minute, func() {
		require.LessOrEqual(t, len(w.registers), 30)
		require.Contains(t, w.snapshot().Failure.Cause(), "keysets")
	})
	w.run(2 * time.Minute)
}
