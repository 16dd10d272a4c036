package connection_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/testkit/wire"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// TestWireNamesNeverChange holds every name that is in recorded histories, in running workflows and in what people type
// against a file. A line that is gone or different breaks all of them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	wire.Golden(t, wireNames(),
		connection.State{}, connection.Request{}, connection.MarkStale{}, connection.DesiredChanged{}, connection.EngineEvent{},
		connection.SnapshotRequest{}, connection.Snapshot{}, connection.Health{}, connection.RefreshResult{},
		connection.Transition{}, connection.Projection{}, connection.Answered{}, desired.LoadRequest{}, desired.LoadResult{},
		endpoint.ProbeRequest{}, endpoint.ProbeResult{}, endpoint.MintRequest{}, endpoint.MintResult{}, engine.RegisterRequest{},
		engine.RegisterResult{}, engine.InspectRequest{}, engine.InspectResult{}, engine.DisconnectRequest{},
		engine.DisconnectResult{})
}

func wireNames() []string {
	lines := []string{
		"workflow " + connection.WorkflowName,
		"memo " + connection.MemoSnapshot,
		"error " + connection.ErrTypeRollingOver,
	}
	for kind, names := range map[string][]string{
		"update": {connection.UpdateProbe, connection.UpdateReconcile, connection.UpdateRefresh, connection.UpdateRemove},
		"signal": {
			connection.SignalMarkStale, connection.SignalDesiredChanged, connection.SignalEngineEvent,
			connection.SignalForceContinueAsNew,
		},
		"query": {
			connection.QuerySnapshot, connection.QueryHealth, connection.QueryTransitions, connection.QueryProjection,
		},
		"activity": {
			desired.LoadName, endpoint.ProbeName, endpoint.MintName, engine.RegisterName, engine.InspectName, engine.DisconnectName,
		},
		"outcome": {
			string(engine.RegisterDelivered), string(engine.RegisterAlreadyProven), string(engine.RegisterEngineBusy),
			string(engine.RegisterDesiredChanged), string(engine.RegisterRejected), string(engine.RegisterTokenMissing),
		},
		"state": {
			string(delivery.NotDesired), string(delivery.Pending), string(delivery.Registering), string(delivery.Ready),
			string(delivery.Stale), string(delivery.Failed),
		},
		"mode": {string(engine.ModeWatch), string(engine.ModeRecover), string(engine.ModeIdle)},
		"decision": {
			string(engine.DecisionInSync), string(engine.DecisionEntryGone), string(engine.DecisionEntryStatus),
			string(engine.DecisionEntryConnected), string(engine.DecisionEngineDown), string(engine.DecisionEngineIdle),
			string(engine.DecisionDesiredChanged), string(engine.DecisionEndpointMissed),
			string(engine.DecisionEndpointFailed), string(engine.DecisionEndpointHealthy),
			string(engine.DecisionSessionForgotten), string(engine.DecisionTokenDue),
			string(engine.DecisionTokenRenewed),
		},
		"waiting": {
			string(connection.WaitingEngineIdle), string(connection.WaitingPush), string(connection.WaitingEndpoint),
			string(connection.WaitingRetry), string(connection.WaitingToken),
		},
	} {
		for _, name := range names {
			lines = append(lines, kind+" "+name)
		}
	}
	return lines
}
