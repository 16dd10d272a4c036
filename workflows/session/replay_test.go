package session_test

import (
	"testing"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	replay.All(t, session.Workflow, session.WorkflowName,
		"paused", "terminated", "expired", "rolled_over-1", "rolled_over-2")
}
