package execution_test

import (
	"testing"

	activities "github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit/wire"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// TestWireNamesNeverChange holds every name that is in recorded histories and in running workflows against a file. A line that
// is gone or different breaks them: give it back. A line that is new is fine: add it.
func TestWireNamesNeverChange(t *testing.T) {
	t.Parallel()
	lines := []string{
		"workflow " + execution.WorkflowName, "id " + execution.ID("x"), "update " + execution.UpdateResume,
		"update " + execution.UpdateAsk, "update " + execution.UpdateCancel, "query " + execution.QuerySnapshot,
		"query " + execution.QueryPauses, "query " + execution.QueryOutcome, "activity " + activities.CallName,
		"activity " + activities.SettleName, "activity " + activities.RecordName,
		"update id " + execution.ResumeUpdateID("p", approval.Identity{Account: "a", Organisation: "o"}),
		"error " + execution.ErrTypeNoPause, "error " + execution.ErrTypeBadDecision, "error " + execution.ErrTypeNotCalling,
		"event " + activities.EventPaused, "event " + activities.EventDecided, "event " + activities.EventResuming,
		"event " + activities.EventSettled, "event " + activities.EventOutcome,
	}
	for _, state := range []activities.CallState{
		activities.StateNone, activities.StateDone, activities.StateClaimed, activities.StateRefused,
	} {
		lines = append(lines, "state "+string(state))
	}
	wire.Golden(t, lines,
		execution.Input{}, execution.Resume{}, execution.Resumed{}, execution.Ask{}, execution.Asked{}, execution.Cancel{},
		execution.Snapshot{}, activities.CallRequest{}, activities.CallResult{}, activities.SettleRequest{},
		activities.RecordRequest{})
}
