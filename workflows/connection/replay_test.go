package connection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	replay.All(t, connection.Workflow, connection.WorkflowName,
		"delivered", "disposed_repaired", "endpoint_down_and_back", "engine_down_and_back", "busy_then_idle",
		"mark_stale", "desired_changed", "refresh", "removed", "rolled_over-1", "rolled_over-2", "invalid_config",
		"auth_failed")
}

func TestAHistoryOfAnotherWorkflowDoesNotReplay(t *testing.T) {
	t.Parallel()
	for _, paths := range replay.Fixtures(t) {
		history := replay.Read(t, paths[0])
		renamed := false
		for _, ev := range history.GetEvents() {
			if scheduled := ev.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
				scheduled.ActivityType.Name, renamed = "something.else", true
			}
		}
		require.True(t, renamed)
		require.Error(t, replay.Replay(connection.Workflow, connection.WorkflowName, history))
	}
}
