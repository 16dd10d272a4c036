package tool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func (w *world) write(in tool.RecordRequest) {
	w.t.Helper()
	in.Key, in.AskedBy = w.key, "token:1"
	_, err := peers.NewEnvironment(w.activities()).ExecuteActivity(tool.RecordName, in)
	require.NoError(w.t, err)
}

func TestStepsOfAnExecutionAreWrittenDownForListsWaitersAndTheAudit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	pause := approval.Pause{
		ID: approval.PauseID(w.key, 1), Number: 1, CreatedAt: now, Deadline: now.Add(time.Minute),
		Request: approval.Request{Kind: approval.KindGate, Message: "Approve?", Reason: "rule 1"},
	}
	paused := tool.RecordRequest{Paused: &pause, Events: []tool.Event{{Seq: 1, Kind: tool.EventPaused, Pause: 1, At: now}}}
	w.write(paused)
	row, err := w.store.Pause(t.Context(), pause.ID)
	require.NoError(t, err)
	require.True(t, row.Open())
	require.Equal(t, "test 1", row.Client)
	require.Equal(t, "d1", row.Digest)

	decided := pause
	decided.Decision = &approval.Decision{Action: approval.ActionAccept, By: "bob", Via: approval.ViaPage, Reason: "fine", At: now}
	w.write(tool.RecordRequest{Decided: &decided, Events: []tool.Event{
		{Seq: 2, Kind: tool.EventDecided, Pause: 1, At: now}, {Seq: 3, Kind: tool.EventResuming, Pause: 1, At: now},
	}})
	row, err = w.store.Pause(t.Context(), pause.ID)
	require.NoError(t, err)
	require.Equal(t, "bob", row.Decision.By)

	outcome := approval.Outcome{Kind: approval.OutcomeCompleted, At: now, Calls: 1}
	end := tool.RecordRequest{Outcome: &outcome, Events: []tool.Event{
		{Seq: 4, Kind: tool.EventSettled, Pause: 1, At: now}, {Seq: 5, Kind: tool.EventOutcome, At: now},
	}}
	w.write(end)
	w.write(end)
	w.write(paused)
	execution, err := w.store.Execution(t.Context(), w.key)
	require.NoError(t, err)
	require.Equal(t, string(approval.OutcomeCompleted), execution.Status)
	require.WithinDuration(t, now.Add(time.Hour), execution.Retained, time.Second)
	events, err := w.store.ExecutionEvents(t.Context(), w.key, 0)
	require.NoError(t, err)
	kinds := make([]string, 0, len(events))
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []string{"paused", "decided", "resuming", "settled", "outcome"}, kinds, "what is written again changes nothing")

	lines, err := w.store.AuditLog(t.Context(), store.AuditFilter{Execution: w.key})
	require.NoError(t, err)
	actions := map[string]string{}
	for _, line := range lines {
		actions[line.Action] = line.Principal
	}
	require.Equal(t, map[string]string{"pause": "token:1", "accept": "bob", "outcome": "token:1"}, actions)
}

func TestANewPauseFollowsWhatTheEarlierOneHasComeTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	pause := approval.Pause{ID: approval.PauseID(w.key, 2), Number: 2, CreatedAt: now, Deadline: now.Add(time.Minute)}
	w.write(tool.RecordRequest{Paused: &pause, Events: []tool.Event{
		{Seq: 4, Kind: tool.EventSettled, Pause: 1, At: now}, {Seq: 5, Kind: tool.EventPaused, Pause: 2, At: now},
	}})
	events, err := w.store.ExecutionEvents(t.Context(), w.key, 0)
	require.NoError(t, err)
	require.Len(t, events, 2)
}

func TestAStepOfAnExecutionThatIsNotKeptIsNoError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.key = approval.NewKey()
	outcome := approval.Outcome{Kind: approval.OutcomeExpired, At: time.Now()}
	w.write(tool.RecordRequest{Outcome: &outcome, Events: []tool.Event{{Seq: 1, Kind: tool.EventOutcome, At: time.Now()}}})
}
