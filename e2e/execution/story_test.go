package execution_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// mostEvents is what a gated call that is approved may cost in history.
const mostEvents = 55

func TestAnApprovedCallIsCheapAndItsHistoryHoldsNeitherArgumentsNorResult(t *testing.T) {
	t.Parallel()
	// case 42
	r := newRig(t)
	r.startWorker()
	sessionID := r.startSession()
	key := r.start(func(in *execution.Input) { in.Session = sessionID })
	r.paused(key, 1)
	testkit.Eventually(t, late, func() bool { return r.hooks(sessionID) == 1 }, "the session knows")
	leases, err := r.sessions.Leases(t.Context(), sessionID)
	require.NoError(t, err)
	require.Len(t, leases, 1)

	r.decide(key, 1, approval.ActionAccept)
	require.Equal(t, approval.OutcomeCompleted, r.settled(key).Kind)
	history := r.history(execution.ID(key))
	require.LessOrEqual(t, len(history.GetEvents()), mostEvents, "%v", kinds(r, execution.ID(key)))
	require.Equal(t, 1, kinds(r, execution.ID(key))[enumspb.EVENT_TYPE_TIMER_STARTED.String()])
	require.Zero(t, kinds(r, execution.ID(key))[enumspb.EVENT_TYPE_TIMER_FIRED.String()])
	r.Unseal(history)
	require.NotContains(t, history.String(), "CANARY")
	require.Contains(t, history.String(), "mail.send", "it is unsealed")
	call, err := r.Store.Call(t.Context(), key, 1)
	require.NoError(t, err)
	require.Contains(t, string(call.Result), "CANARY-RESULT")

	leases, err = r.sessions.Leases(t.Context(), sessionID)
	require.NoError(t, err)
	require.Empty(t, leases)
	snapshot, err := r.sessions.Snapshot(t.Context(), sessionID)
	require.NoError(t, err)
	names := make([]string, 0, len(snapshot.Hooks))
	for _, h := range snapshot.Hooks {
		names = append(names, h.Hook)
	}
	require.Equal(t, []string{"paused", "resuming", "settled"}, names)
}

func kinds(r *rig, workflowID string) map[string]int {
	found := map[string]int{}
	for _, event := range r.history(workflowID).GetEvents() {
		found[event.GetEventType().String()]++
	}
	return found
}

func (r *rig) startSession() string {
	r.TB.Helper()
	id := testkit.UniqueName()
	require.NoError(r.TB, r.sessions.Touch(r.TB.Context(), r.session(id), session.Touch{At: time.Now(), Why: "use"}))
	return id
}

func (r *rig) session(id string) session.Input {
	return session.Input{
		ID: id, Identity: r.owner, Mode: approval.ModeBrowser, Client: "test 1", CreatedAt: time.Now(), Retention: time.Hour,
		AbsoluteLimit: 2 * time.Hour,
	}
}

func (r *rig) hooks(id string) int {
	r.TB.Helper()
	got, err := r.sessions.Snapshot(r.TB.Context(), id)
	if err != nil {
		return -1
	}
	return len(got.Hooks)
}

func TestARunThatHasEndedAnswersWithoutAWorker(t *testing.T) {
	t.Parallel()
	// cases 25, 26, 28 and 29, A16
	r := newRig(t)
	worker := r.startWorker()
	key := r.start(asIs)
	r.paused(key, 1)
	require.Equal(t, execution.VerdictDecided, r.decide(key, 1, approval.ActionDecline).Verdict)
	require.Equal(t, approval.OutcomeDeclined, r.settled(key).Kind)
	worker.Kill()

	resume := func(who approval.Identity, action approval.Action) (execution.Resumed, error) {
		return r.executions.Resume(t.Context(), who, execution.Resume{
			PauseID: approval.PauseID(key, 1), Decision: approval.Decision{Action: action, By: who.Account, Via: approval.ViaCLI},
		})
	}
	bob := approval.Identity{Account: "bob", Organisation: "default"}
	for _, tc := range []struct {
		who    approval.Identity
		action approval.Action
		want   execution.Verdict
	}{
		{bob, approval.ActionDecline, execution.VerdictRepeated},
		{bob, approval.ActionAccept, execution.VerdictConflict},
		{r.owner, approval.ActionAccept, execution.VerdictConflict},
	} {
		got, err := resume(tc.who, tc.action)
		require.NoError(t, err)
		require.Equal(t, tc.want, got.Verdict)
		require.Equal(t, approval.ActionDecline, got.Pause.Decision.Action)
	}
	outcome, err := r.executions.Outcome(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeclined, outcome.Kind)
	pauses, err := r.executions.Pauses(t.Context(), key)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	require.NoError(t, r.executions.Cancel(t.Context(), key, execution.Cancel{By: "ann", Via: approval.ViaCLI}))
	snapshot, err := r.executions.Snapshot(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeclined, snapshot.Outcome.Kind)

	_, err = r.executions.Outcome(t.Context(), approval.NewKey())
	require.ErrorIs(t, err, execution.ErrNotFound)
	_, err = r.executions.Resume(t.Context(), r.owner, execution.Resume{
		PauseID: approval.PauseID(key, 2), Decision: approval.Decision{Action: approval.ActionAccept},
	})
	require.ErrorIs(t, err, execution.ErrNotFound)
}

func TestARunThatAnOperatorHasTerminatedIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startWorker()
	key := r.start(asIs)
	r.paused(key, 1)
	require.NoError(t, r.Temporal.TerminateWorkflow(t.Context(), execution.ID(key), "", "by hand"))
	outcome, err := r.executions.Outcome(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeUnknown, outcome.Kind)
	require.Equal(t, approval.CodeRunEnded, outcome.Code)
}

func TestWhatAToolAsksWhileItIsCalledIsDecidedByAPerson(t *testing.T) {
	t.Parallel()
	// cases 24 and 40
	r := newRig(t)
	r.startWorker()
	sessionID := r.startSession()
	key := r.start(func(in *execution.Input) { in.Address, in.Session = askingTool, sessionID })
	first := r.paused(key, 1)
	r.decide(key, 1, approval.ActionAccept)
	second := r.paused(key, 2)
	require.NotEqual(t, first.ID, second.ID)
	require.Zero(t, r.upstream.runs(key))
	r.decideWith(key, 2, approval.Decision{
		Action: approval.ActionAccept, Content: json.RawMessage(`{"folder":"inbox"}`), By: "ann", Via: approval.ViaPage,
	})
	require.Equal(t, approval.OutcomeCompleted, r.settled(key).Kind)
	require.JSONEq(t, `{"folder":"inbox"}`, r.upstream.lastArguments())
	events, err := r.Store.ExecutionEvents(t.Context(), key, 0)
	require.NoError(t, err)
	told := make([]string, 0, len(events))
	for _, e := range events {
		told = append(told, fmt.Sprintf("%s %d", e.Kind, e.Pause))
	}
	require.Equal(t, []string{
		"paused 1", "decided 1", "resuming 1", "settled 1", "paused 2", "decided 2", "resuming 2", "settled 2", "outcome 0",
	}, told)
	testkit.Eventually(t, late, func() bool { return r.hooks(sessionID) == 6 }, "the session knows")
}

func TestAnExecutionThatWaitsIsCalledOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startWorker()
	key := r.start(asIs)
	r.paused(key, 1)
	require.NoError(t, r.executions.Cancel(t.Context(), key, execution.Cancel{By: "ann", Via: approval.ViaCLI}))
	require.Equal(t, approval.OutcomeCancelled, r.settled(key).Kind)
	row, err := r.Store.Pause(t.Context(), approval.PauseID(key, 1))
	require.NoError(t, err)
	require.True(t, row.Dropped)
	require.Zero(t, r.upstream.runs(key))
}

func TestASessionIsListedUntilItEndsAndCannotBeBroughtBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startWorker()
	id := testkit.UniqueName()
	require.NoError(t, r.Store.PutSession(t.Context(), store.Session{
		ID: id, Identity: r.owner, Mode: approval.ModeBrowser, Resource: "default", CreatedAt: time.Now(), LastSeenAt: time.Now(),
	}))
	require.NoError(t, r.sessions.Touch(t.Context(), r.session(id), session.Touch{At: time.Now()}))
	require.NoError(t, r.sessions.Touch(t.Context(), r.session(id), session.Touch{At: time.Now()}))
	testkit.Eventually(t, late, func() bool {
		rows, err := r.sessions.List(t.Context(), session.Filter{Identity: &r.owner})
		return err == nil && len(rows) == 1 && rows[0].ID == id && rows[0].Running
	}, "it is listed")
	require.NoError(t, r.sessions.Terminate(t.Context(), id, session.Terminate{By: "ann"}))
	testkit.Eventually(t, late, func() bool {
		row, err := r.Store.Session(t.Context(), id)
		return err == nil && !row.TerminatedAt.IsZero()
	}, "its row is marked")
	testkit.Eventually(t, late, func() bool {
		rows, err := r.sessions.List(t.Context(), session.Filter{Identity: &r.owner})
		return err == nil && len(rows) == 0
	}, "it is listed no more")
	require.ErrorIs(t, r.sessions.Touch(t.Context(), r.session(id), session.Touch{At: time.Now()}), session.ErrNotFound)
	require.ErrorIs(t, r.sessions.Terminate(t.Context(), id, session.Terminate{}), session.ErrNotFound)
}

func TestAsleepASessionAddsNothingToItsHistory(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.startWorker()
	id := r.startSession()
	testkit.Eventually(t, late, func() bool { return r.hooks(id) == 0 }, "it runs")
	found := kinds(r, session.ID(id))
	require.Equal(t, 1, found[enumspb.EVENT_TYPE_TIMER_STARTED.String()])
	total := 0
	for _, n := range found {
		total += n
	}
	require.LessOrEqual(t, total, 6)
}
