package connection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

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

func TestAnEndpointThatForgetsAtEveryLookIsDeliveredToWithBackoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		if in.Mode == engine.ModeWatch {
			return engine.InspectResult{Decision: engine.DecisionSessionForgotten, Status: "connected"}, nil
		}
		return engine.InspectResult{}, apperr.NotDue("waiting: mcp_session_lost", pollInterval)
	}
	w.at(2*time.Hour, func() {
		require.LessOrEqual(t, len(w.registers), 25, "the wait between two deliveries doubles up to a quarter of an hour")
		s := w.snapshot()
		require.Equal(t, health.CodeSessionLost, s.Failure.Code)
		require.True(t, s.Failure.Retryable)
		require.NotNil(t, s.NextAttemptAt)
		w.set(func() { w.onInspect = nil })
	})
	w.at(3*time.Hour, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(4 * time.Hour)
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
