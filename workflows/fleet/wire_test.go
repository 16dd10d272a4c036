package fleet_test

import (
	"testing"

	activities "github.com/holdfast-mcp/holdfast/activities/fleet"
	"github.com/holdfast-mcp/holdfast/internal/testkit/wire"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// TestWireNamesNeverChange holds every name that is in recorded histories and in running workflows against a file. A line that
// is gone or different breaks them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	lines := []string{
		"workflow " + fleet.WorkflowName, "id " + fleet.ID("holdfast"), "id " + fleet.ID("a b"),
		"signal " + fleet.SignalReconcileNow, "query " + fleet.QuerySnapshot, "activity " + activities.ReconcileName,
	}
	wire.Golden(t, lines,
		fleet.State{}, fleet.Snapshot{}, activities.ReconcileRequest{}, activities.ReconcileResult{})
}
