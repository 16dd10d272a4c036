package connection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// scenarios are those that each release must have been recorded with; a run of several is numbered.
var scenarios = []string{
	"delivered", "disposed_repaired", "endpoint_down_and_back", "engine_down_and_back", "busy_then_idle", "mark_stale",
	"desired_changed", "refresh", "removed", "rolled_over-1", "rolled_over-2", "invalid_config", "auth_failed",
}

// TestRecordedHistoriesReplay fails when this code would not continue the workflows of a released version. What that
// means and what to do is told in internal/testkit/replay.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	for release, paths := range replay.Fixtures(t) {
		names := make([]string, 0, len(paths))
		for _, path := range paths {
			names = append(names, replay.Name(path))
			t.Run(release+"/"+replay.Name(path), func(t *testing.T) {
				t.Parallel()
				require.NoError(t, replay.Replay(connection.Workflow, connection.WorkflowName, replay.Read(t, path)))
			})
		}
		require.Subset(t, names, scenarios, release)
	}
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
