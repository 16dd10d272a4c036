package connection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// off is what is loaded of a connection that somebody switched off.
func off() desired.LoadResult {
	f := health.DesiredDisabled()
	return desired.LoadResult{Present: true, Revision: "r1-off", EngineID: "engine-1", TimeoutMillis: 5000, Failure: &f}
}

func TestDisableDuringARepairStaysDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		// While the push is under way.
		w.wanted = off()
		w.onProbe = func() endpoint.ProbeResult { return endpoint.ProbeResult{DesiredChanged: true} }
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r1-off"})
		return delivered(), nil
	}
	w.at(time.Hour, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeDisabled, s.Failure.Code)
		require.NotContains(t, w.states(), "ready")
		require.Len(t, w.registers, 1, "nothing delivers it again")
		require.Len(t, w.drops, 1, "what was under way is taken out of the engine")
	})
	w.run(2 * time.Hour)
}

func TestADisabledConnectionIsWithdrawnOnceNoSessionUsesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy := true
	w.onDisconnect = func(in engine.DisconnectRequest) (engine.DisconnectResult, error) {
		require.True(t, in.IfIdle)
		switch {
		case busy && in.Wait:
			return engine.DisconnectResult{}, apperr.NotDue("waiting: a session uses the client", 5*time.Second)
		case busy:
			return engine.DisconnectResult{Busy: true}, nil
		default:
			return engine.DisconnectResult{OK: true}, nil
		}
	}
	w.at(time.Minute, func() {
		w.set(func() { w.wanted = off() })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r1-off"})
	})
	w.at(2*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, connection.WaitingEngineIdle, s.WaitingFor)
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.PhaseEngineDisabled, w.health().Phase)
		w.set(func() { busy = false })
	})
	w.at(3*time.Minute, func() {
		require.Empty(t, w.snapshot().WaitingFor)
		drops := len(w.drops)
		w.at(time.Hour, func() { require.Len(t, w.drops, drops, "once is enough") })
	})
	w.run(2 * time.Hour)
}

func TestAConnectionThatIsNotWantedAnyMoreIsWithdrawnOnceNoSessionUsesIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy := true
	w.onDisconnect = func(in engine.DisconnectRequest) (engine.DisconnectResult, error) {
		if busy && in.Wait {
			return engine.DisconnectResult{}, apperr.NotDue("waiting: a session uses the client", 5*time.Second)
		}
		return engine.DisconnectResult{OK: !busy, Busy: busy}, nil
	}
	w.at(time.Minute, func() {
		w.set(func() { w.wanted = desired.LoadResult{} })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, delivery.NotDesired, w.snapshot().State)
		require.Equal(t, connection.WaitingEngineIdle, w.snapshot().WaitingFor)
		w.set(func() { busy = false })
	})
	w.at(3*time.Minute, func() { require.Empty(t, w.snapshot().WaitingFor) })
	w.run(time.Hour)
}

func TestASwitchedOffConnectionComesBackWhenItIsSwitchedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	on := w.wanted
	w.wanted = off()
	w.at(time.Minute, func() {
		require.Equal(t, health.CodeDisabled, w.snapshot().Failure.Code)
		require.Empty(t, w.drops, "what was never delivered need not be taken out")
		w.set(func() { w.wanted = on })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r1"})
	})
	w.at(2*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(3 * time.Minute)
}

func TestAConnectionThatMovesIsTakenOutOfTheEngineBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(time.Minute, func() {
		w.set(func() { w.wanted.EngineID = "engine-2" })
		w.once(engine.InspectResult{Decision: engine.DecisionDesiredChanged})
	})
	w.at(3*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Ready, s.State)
		require.Equal(t, "engine-2", s.EngineID)
		require.Len(t, w.drops, 1)
		require.Equal(t, "engine-1", w.drops[0].EngineID)
		require.Len(t, w.registers, 2)
		require.Equal(t, "engine-2", w.registers[1].EngineID)
		require.False(t, w.registers[1].Proven, "what was delivered elsewhere proves nothing here")
		require.Contains(t, w.transitions()[3].Reason, "moved from engine engine-1 to engine-2")
	})
	w.run(4 * time.Minute)
}
