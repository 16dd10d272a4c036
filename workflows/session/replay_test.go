package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// scenarios are those that each release must have been recorded with; a run of several is numbered.
var scenarios = []string{
	"paused", "terminated", "expired", "rolled_over-1", "rolled_over-2",
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
				require.NoError(t, replay.Replay(session.Workflow, session.WorkflowName, replay.Read(t, path)))
			})
		}
		require.Subset(t, names, scenarios, release)
	}
}
