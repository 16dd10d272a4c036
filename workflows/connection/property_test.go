package connection_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// TestPropertyReadyIsNeverShownUnproven plays random worlds: signals and updates at random times, and activities that
// answer whatever their contract allows. Whatever happens, no reader is told "ready" without a push and a "connected"
// after it, both in the current generation and for the desired revision, and a good look at the endpoint after that.
func TestPropertyReadyIsNeverShownUnproven(t *testing.T) {
	t.Parallel()
	ready := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		witness := &witness{}
		script(t, w, witness)
		play(t, w)
		for s := range 23 {
			w.at(time.Duration(s+1)*5*time.Second, func() { ready += witness.check(t, w) })
		}
		w.at(2*time.Minute, w.env.CancelWorkflow)
		w.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
		require.ErrorContains(t, errors.Unwrap(w.env.GetWorkflowError()), "canceled")
	})
	require.Positive(t, ready, "the worlds are so bad that nothing is ever ready")
}

// proof names what a push was about.
type proof struct {
	revision   string
	generation int64
}

// witness keeps its own account of what the activities proved. It is used under the lock of the world.
type witness struct {
	pushed, connected, verified proof
}

func (p *witness) push(in engine.RegisterRequest, connected bool) {
	*p = witness{pushed: proof{in.Revision, in.Generation}}
	if connected {
		p.connected = p.pushed
	}
}

func (p *witness) look(in engine.InspectRequest, decision engine.Decision) {
	about := proof{in.Revision, in.Generation}
	switch {
	case decision == engine.DecisionEntryConnected && p.pushed == about:
		p.connected = about
	case decision == engine.DecisionEndpointHealthy && p.connected == about:
		p.verified = about
	}
}

// check asks as readers do and returns 1 when the answer was "ready".
func (p *witness) check(t *rapid.T, w *world) int {
	value, err := w.env.QueryWorkflow(connection.QueryProjection)
	require.NoError(t, err)
	var projection connection.Projection
	require.NoError(t, value.Get(&projection))
	s, h := w.snapshot(), w.health()
	if s.State != delivery.Ready && !projection.Usable && !h.Usable {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	about := proof{*s.DesiredRevision, s.Generation}
	require.Equal(t, about, p.connected, "no receipt")
	require.Equal(t, about, p.verified, "not verified since the receipt")
	require.NotNil(t, s.VerifiedAt)
	require.Equal(t, s.DesiredRevision, s.AppliedRevision)
	if projection.Usable {
		require.Equal(t, about.revision, projection.Revision)
		require.Equal(t, delivery.Ready, s.State)
	}
	return 1
}

// script draws beforehand what the activities will answer: they run beside the draw.
func script(t *rapid.T, w *world, p *witness) {
	outcomes := rapid.SliceOfN(rapid.IntRange(0, 7), 8, 8).Draw(t, "registers")
	probes := rapid.SliceOfN(rapid.IntRange(0, 5), 8, 8).Draw(t, "probes")
	looks := rapid.SliceOfN(rapid.IntRange(0, 29), 24, 24).Draw(t, "looks")
	next := func(from *[]int) int {
		n := (*from)[0]
		*from = append((*from)[1:], n)
		return n
	}
	w.onRegister = func(in engine.RegisterRequest) (engine.RegisterResult, error) {
		return registered(in, next(&outcomes), p)
	}
	w.onProbe = func() endpoint.ProbeResult {
		switch next(&probes) {
		case 0:
			return unreachable()
		case 1:
			return refused()
		case 2:
			return endpoint.ProbeResult{DesiredChanged: true}
		default:
			p.verified = p.connected
			return well()
		}
	}
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) { return looked(in, next(&looks), p) }
}

func registered(in engine.RegisterRequest, n int, p *witness) (engine.RegisterResult, error) {
	f := health.SyncFailed(true, "the engine reports failed")
	switch n {
	case 0:
		return engine.RegisterResult{Outcome: engine.RegisterEngineBusy, Status: "connected"}, nil
	case 1:
		p.push(in, false)
		return engine.RegisterResult{Outcome: engine.RegisterRejected, Status: "failed", Failure: &f}, nil
	case 2:
		return engine.RegisterResult{Outcome: engine.RegisterDesiredChanged}, nil
	case 3:
		return engine.RegisterResult{}, apperr.FailedFinally(
			health.EngineUnreachable(health.StageEngineDelivery, "connection refused"), nil)
	case 4:
		if in.Proven {
			return engine.RegisterResult{Outcome: engine.RegisterAlreadyProven, Status: "connected"}, nil
		}
	}
	p.push(in, true)
	return delivered(), nil
}

var decisions = []engine.Decision{
	engine.DecisionEntryGone, engine.DecisionEntryStatus, engine.DecisionEntryConnected, engine.DecisionEngineDown,
	engine.DecisionEngineIdle, engine.DecisionDesiredChanged, engine.DecisionEndpointMissed,
	engine.DecisionEndpointFailed, engine.DecisionEndpointHealthy, engine.DecisionSessionForgotten,
}

func looked(in engine.InspectRequest, n int, p *witness) (engine.InspectResult, error) {
	if n >= len(decisions) {
		return inSync(in)
	}
	p.look(in, decisions[n])
	f := health.EndpointUnreachable("connection refused", nil)
	return engine.InspectResult{Decision: decisions[n], Status: "connected", Failure: &f}, nil
}

// play schedules what people and other workflows do, and tells when.
func play(t *rapid.T, w *world) (acts []time.Duration) {
	updates := []string{connection.UpdateProbe, connection.UpdateReconcile, connection.UpdateRefresh}
	for i := range rapid.IntRange(0, 12).Draw(t, "acts") {
		when := time.Duration(rapid.IntRange(0, 110_000).Draw(t, "ms")) * time.Millisecond
		acts = append(acts, when)
		act := rapid.IntRange(0, 5).Draw(t, "act")
		generation := int64(rapid.IntRange(0, 4).Draw(t, "generation"))
		name := rapid.SampledFrom(updates).Draw(t, "update")
		revision := rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "revision")
		w.at(when, func() {
			switch act {
			case 0:
				w.env.SignalWorkflow(connection.SignalMarkStale, nil)
			case 1:
				w.set(func() { w.wanted.Revision = revision })
				w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: revision})
			case 2:
				w.env.SignalWorkflow(connection.SignalEngineEvent, connection.EngineEvent{Generation: generation})
			case 3:
				w.set(func() { w.wanted.Present = !w.wanted.Present })
				w.env.SignalWorkflow(connection.SignalDesiredChanged, nil)
			default:
				w.env.UpdateWorkflow(name, string(rune('a'+i)), &testsuite.TestUpdateCallback{
					OnAccept: func() {}, OnReject: func(error) {}, OnComplete: func(any, error) {},
				}, connection.Request{})
			}
		})
	}
	return acts
}
