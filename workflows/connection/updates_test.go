package connection_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestSixProbesAtOnceShareOneLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var before int
	w.at(59*time.Second, func() { before = len(w.looks) })
	for i := range 6 {
		w.update(time.Minute, connection.UpdateProbe, fmt.Sprint("p", i), func(answer any) {
			require.True(t, answer.(connection.Health).Usable)
		})
	}
	w.at(70*time.Second, func() {
		once := 0
		for _, look := range w.looks[before:] {
			if look.Once {
				once++
			}
		}
		require.Equal(t, 1, once)
		require.Len(t, w.registers, 1)
	})
	w.run(2 * time.Minute)
}

func TestAProbeRepairsWhatItFinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(30*time.Second, func() {
		w.set(func() {
			w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
				if !in.Once {
					return inSync(in)
				}
				w.onInspect = nil
				return engine.InspectResult{Decision: engine.DecisionEntryGone, Status: "missing"}, nil
			}
		})
	})
	w.update(time.Minute, connection.UpdateProbe, "p", func(answer any) {
		require.True(t, answer.(connection.Health).Usable)
		require.Len(t, w.registers, 2)
	})
	w.run(2 * time.Minute)
}

func TestAProbeThatMissesOnceLooksAgainBeforeItAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointUnreachable("connection refused", nil)
	w.at(30*time.Second, func() {
		w.set(func() {
			w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
				switch {
				case !in.Once:
					return inSync(in)
				case in.Degraded:
					return engine.InspectResult{Decision: engine.DecisionEndpointFailed, Status: "connected", Failure: &f}, nil
				default:
					return engine.InspectResult{Decision: engine.DecisionEndpointMissed, Status: "connected", Failure: &f}, nil
				}
			}
		})
	})
	w.update(time.Minute, connection.UpdateProbe, "p", func(answer any) {
		got := answer.(connection.Health)
		require.False(t, got.Usable)
		require.Equal(t, delivery.Failed, got.Delivery.State)
		require.Equal(t, health.CodeEndpointUnreachable, got.FirstFailure.Code)
	})
	w.run(90 * time.Second)
}

func TestALookThatNobodyWaitsForGivesTheEndpointTimeAfterAMiss(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := health.EndpointUnreachable("connection refused", nil)
	w.at(time.Minute, func() {
		w.set(func() {
			w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
				if in.Once {
					return engine.InspectResult{Decision: engine.DecisionEndpointMissed, Status: "connected", Failure: &f}, nil
				}
				return inSync(in)
			}
		})
		w.env.SignalWorkflow(connection.SignalEngineEvent, connection.EngineEvent{Reason: "a look is asked for"})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.NotNil(t, w.snapshot().Degraded)
	})
	w.run(3 * time.Minute)
}

func TestCase50ReconcilingAHealthyConnectionPushesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(time.Minute, connection.UpdateReconcile, "c", func(answer any) {
		require.True(t, answer.(connection.Health).Usable)
		require.Len(t, w.registers, 1)
	})
	w.run(2 * time.Minute)
}

func TestReconcilingAFailedConnectionDeliversNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister, w.onProbe = rejected("SSE error: Non-200 status code (401)"), refused
	w.at(30*time.Second, func() { w.set(func() { w.onRegister, w.onProbe = nil, nil }) })
	w.update(time.Minute, connection.UpdateReconcile, "c", func(answer any) {
		require.True(t, answer.(connection.Health).Usable)
	})
	w.run(2 * time.Minute)
}

func TestCase47RefreshDropsAndDelivers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(time.Minute, connection.UpdateRefresh, "f", func(answer any) {
		got := answer.(connection.RefreshResult)
		require.True(t, got.Refresh.Performed)
		require.Equal(t, "engine-refresh", got.Refresh.Trigger)
		require.Equal(t, []string{"engine_disconnect", "reapply"}, steps(got.Refresh))
		require.True(t, got.Refresh.Steps[0].OK)
		require.True(t, got.Refresh.Steps[1].OK)
		require.True(t, got.Health.Usable)
		require.Len(t, w.drops, 1)
		require.Len(t, w.registers, 2)
	})
	w.run(2 * time.Minute)
}

func steps(r connection.Refresh) []string {
	names := make([]string, 0, len(r.Steps))
	for _, s := range r.Steps {
		names = append(names, s.Step)
	}
	return names
}

func TestCase48RefreshWithNothingWantedTouchesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wanted.Present = false
	w.update(time.Minute, connection.UpdateRefresh, "f", func(answer any) {
		got := answer.(connection.RefreshResult).Refresh
		require.False(t, got.Performed)
		require.Equal(t, "desired_missing", got.Reason)
		require.Empty(t, got.Steps)
		require.Empty(t, w.drops)
	})
	w.run(2 * time.Minute)
}

func TestCase48RefreshOfADeadEngineTellsBothSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	down := health.EngineUnreachable(health.StageEngineDelivery, "connection refused")
	w.at(30*time.Second, func() {
		w.set(func() {
			w.onDisconnect = func(engine.DisconnectRequest) (engine.DisconnectResult, error) {
				return engine.DisconnectResult{Failure: &down}, nil
			}
			w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
				return engine.RegisterResult{}, apperr.FailedFinally(down, nil)
			}
		})
	})
	w.update(time.Minute, connection.UpdateRefresh, "f", func(answer any) {
		got := answer.(connection.RefreshResult)
		require.True(t, got.Refresh.Performed)
		require.Len(t, got.Refresh.Steps, 2)
		require.False(t, got.Refresh.Steps[0].OK)
		require.False(t, got.Refresh.Steps[1].OK)
		require.Equal(t, health.CodeEngineUnreachable, got.Health.FirstFailure.Code)
		require.Nil(t, got.Health.Delivery.AppliedRevision)
	})
	w.run(2 * time.Minute)
}

func TestCase49RemoveDisconnectsOnceAndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(time.Minute, connection.UpdateRemove, "x", func(answer any) {
		require.Equal(t, delivery.NotDesired, answer.(connection.Health).Delivery.State)
	})
	w.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
	require.True(t, w.env.IsWorkflowCompleted())
	require.NoError(t, w.env.GetWorkflowError())
	require.Len(t, w.drops, 1)
	require.Equal(t, w.asked, w.answered)
}

func TestWhatWasWithdrawnAlreadyIsNotDisconnectedAgainByARemoval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(30*time.Second, func() {
		w.set(func() { w.wanted = desired.LoadResult{} })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{})
	})
	w.update(time.Minute, connection.UpdateRemove, "x", nil)
	w.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
	require.NoError(t, w.env.GetWorkflowError())
	require.Len(t, w.drops, 1)
}

func TestAConnectionWantedAgainWhileItIsRemovedGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onDisconnect = func(engine.DisconnectRequest) (engine.DisconnectResult, error) {
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r1", Trigger: "again"})
		return engine.DisconnectResult{OK: true}, nil
	}
	w.update(time.Minute, connection.UpdateRemove, "x", nil)
	next := w.rollsOver(&connection.State{Key: key})
	require.Equal(t, connection.Intents{Load: true, Trigger: "again"}, next.Intents)
	require.Equal(t, delivery.NotDesired, next.Entry.State)
}

func TestARequestDuringARemovalDoesNotBringTheConnectionBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onDisconnect = func(engine.DisconnectRequest) (engine.DisconnectResult, error) {
		w.updateNow(connection.UpdateProbe, "late", func(answer any) {
			require.Equal(t, delivery.NotDesired, answer.(connection.Health).Delivery.State)
		})
		return engine.DisconnectResult{OK: true}, nil
	}
	w.update(time.Minute, connection.UpdateRemove, "x", nil)
	w.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
	require.NoError(t, w.env.GetWorkflowError())
	require.Equal(t, 2, w.answered)
	require.Len(t, w.drops, 1)
}

func TestAnUpdateAnswersInTimeWhileTheEngineIsBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		return engine.RegisterResult{Outcome: engine.RegisterEngineBusy, Status: "connected"}, nil
	}
	w.onInspect = func(engine.InspectRequest) (engine.InspectResult, error) {
		return engine.InspectResult{}, apperr.NotDue("waiting: a session uses the client", 5*time.Second)
	}
	w.update(time.Second, connection.UpdateReconcile, "c", func(answer any) {
		require.Equal(t, connection.WaitingEngineIdle, answer.(connection.Health).WaitingFor)
	})
	w.run(2 * time.Minute)
}

func TestAnUpdateAnswersWithWhatIsKnownWhenAPushTakesLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		return engine.RegisterResult{}, apperr.NotDue("waiting: an earlier push may still end in the engine", 70*time.Second)
	}
	w.at(2*time.Second, func() { w.set(func() { w.onRegister = nil }) })
	w.update(3*time.Second, connection.UpdateProbe, "p", func(answer any) {
		require.Equal(t, connection.WaitingPush, answer.(connection.Health).WaitingFor)
	})
	w.at(5*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(6 * time.Minute)
}

func TestWhatCallersSayIsKeptShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 900_000)
	w.at(time.Minute, func() {
		w.env.SignalWorkflow(connection.SignalMarkStale, connection.MarkStale{Reason: long})
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Trigger: long})
	})
	w.at(2*time.Minute, func() {
		raw, err := json.Marshal([]any{w.snapshot(), w.transitions()})
		require.NoError(t, err)
		require.Less(t, len(raw), 10_000)
		require.Equal(t, delivery.Ready, w.snapshot().State)
	})
	w.run(3 * time.Minute)
}
