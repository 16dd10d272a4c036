package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func (r *rig) disconnect(t *testing.T, ifIdle bool) engine.DisconnectResult {
	t.Helper()
	got, err := peers.Try[engine.DisconnectResult](t, r.activities, engine.DisconnectName,
		engine.DisconnectRequest{Key: r.key, EngineID: peers.EngineID, IfIdle: ifIdle})
	require.NoError(t, err)
	return got
}

func TestDisconnectClosesTheEnginesClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	require.True(t, r.disconnect(t, false).OK)
	require.Equal(t, "disabled", r.decide(t, engine.DecisionEntryStatus).Status)
}

func TestDisconnectOfAnUnknownServerIsFine(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	got := r.disconnect(t, true)
	require.True(t, got.OK)
	require.Nil(t, got.Failure)
}

func TestDisconnectSparesAClientInUseWhereAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	got := r.disconnect(t, true)
	require.True(t, got.Busy)
	require.False(t, got.OK)
	require.Zero(t, r.Engine.Calls(simulator.RouteDisconnect, ""))
	require.True(t, r.disconnect(t, false).OK)
}

func TestCase48DisconnectTellsOfAnEngineThatIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Kill()
	for _, ifIdle := range []bool{false, true} {
		got := r.disconnect(t, ifIdle)
		require.False(t, got.OK)
		require.False(t, got.Busy)
		require.Equal(t, health.CodeEngineUnreachable, got.Failure.Code)
	}
}

func TestDisconnectNeedsAnEngineThatIsKnown(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	_, err := peers.Try[engine.DisconnectResult](t, r.activities, engine.DisconnectName,
		engine.DisconnectRequest{Key: r.key, EngineID: "nobody"})
	require.False(t, peers.RequireFailure(t, err, health.CodeEngineUnconfigured).Retryable)
}
