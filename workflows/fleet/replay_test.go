package fleet_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	replay.All(t, fleet.Workflow, fleet.WorkflowName,
		"mended", "new_run-1", "new_run-2")
}
