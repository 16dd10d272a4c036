package session_test

import (
	"testing"

	activities "github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/internal/testkit/wire"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// TestWireNamesNeverChange holds every name that is in recorded histories and in running workflows against a file. A line that
// is gone or different breaks them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	lines := []string{
		"workflow " + session.WorkflowName, "id " + session.ID("x"), "query " + session.QuerySnapshot, "query " + session.QueryLeases,
		"signal " + session.SignalPaused, "signal " + session.SignalResuming, "signal " + session.SignalSettled,
		"signal " + session.SignalTouch, "signal " + session.SignalTerminate, "activity " + activities.EndName,
		"state " + session.StateActive, "state " + session.StateEnded,
	}
	wire.Golden(t, lines,
		session.Input{}, session.Hook{}, session.Touch{}, session.Terminate{}, session.Snapshot{}, activities.EndRequest{},
		activities.EndResult{})
}
