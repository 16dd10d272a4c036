package execution_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	replay.All(t, execution.Workflow, execution.WorkflowName,
		"approved", "declined", "expired", "called_off", "approved_beforehand", "asked", "waiting", "worker_lost",
		"worker_lost_made_again")
}
