package engine_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	replay.All(t, engine.Workflow, engine.WorkflowName,
		"watching", "engine_down_and_back", "ended", "rolled_over-1", "rolled_over-2")
}
