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
