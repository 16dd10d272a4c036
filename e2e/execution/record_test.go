//go:build record

package execution_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/replay"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// scenario plays one story and gives the id of the workflow whose history is kept.
type scenario struct {
	pkg, name string
	play      func(t *testing.T, r *rig) (workflowID string)
}

// TestRecordReplayFixtures records the histories that later versions must replay: see internal/testkit/replay. It is
// built and run by `make record RELEASE=v1.2.3` alone.
func TestRecordReplayFixtures(t *testing.T) {
	t.Parallel()
	release := os.Getenv("HOLDFAST_RECORD")
	require.Regexp(t, `^v\d+\.\d+\.\d+$`, release, "HOLDFAST_RECORD names the release")
	for _, tc := range scenarios() {
		t.Run(tc.pkg+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.keep(tc, release, tc.play(t, r))
		})
	}
}

func scenarios() []scenario {
	return []scenario{
		{"execution", "approved", func(_ *testing.T, r *rig) string { return r.playDecided(approval.ActionAccept) }},
		{"execution", "declined", func(_ *testing.T, r *rig) string { return r.playDecided(approval.ActionDecline) }},
		{"execution", "expired", playExpired},
		{"execution", "called_off", playCalledOff},
		{"execution", "approved_beforehand", playApprovedBeforehand},
		{"execution", "asked", playAsked},
		{"execution", "waiting", playWaiting},
		{"execution", "worker_lost", func(t *testing.T, r *rig) string { return playWorkerLost(t, r, false) }},
		{"execution", "worker_lost_made_again", func(t *testing.T, r *rig) string { return playWorkerLost(t, r, true) }},
		{"session", "paused", playSessionPaused},
		{"session", "terminated", playSessionTerminated},
		{"session", "expired", playSessionExpired},
		{"session", "rolled_over", playSessionRolledOver},
	}
}

// gated starts an execution of a session, and waits until it is paused.
func (r *rig) gated(edit func(*execution.Input)) string {
	r.startWorker()
	sessionID := r.startSession()
	key := r.start(func(in *execution.Input) {
		in.Session = sessionID
		edit(in)
	})
	r.paused(key, 1)
	return key
}

func (r *rig) playDecided(action approval.Action) string {
	key := r.gated(asIs)
	r.decide(key, 1, action)
	r.settled(key)
	return execution.ID(key)
}

func playExpired(t *testing.T, r *rig) string {
	key := r.gated(func(in *execution.Input) { in.Window = time.Second })
	require.Equal(t, approval.OutcomeExpired, r.settled(key).Kind)
	return execution.ID(key)
}

func playCalledOff(t *testing.T, r *rig) string {
	key := r.gated(asIs)
	require.NoError(t, r.executions.Cancel(t.Context(), key, execution.Cancel{By: "ann", Via: approval.ViaCLI}))
	r.settled(key)
	return execution.ID(key)
}

func playApprovedBeforehand(_ *testing.T, r *rig) string {
	r.startWorker()
	key := r.start(func(in *execution.Input) { in.AutoApprove = true })
	r.settled(key)
	return execution.ID(key)
}

func playAsked(_ *testing.T, r *rig) string {
	key := r.gated(func(in *execution.Input) { in.Address = askingTool })
	r.decide(key, 1, approval.ActionAccept)
	r.paused(key, 2)
	r.decideWith(key, 2, approval.Decision{
		Action: approval.ActionAccept, Content: json.RawMessage(`{"folder":"inbox"}`), By: "ann", Via: approval.ViaPage,
	})
	r.settled(key)
	return execution.ID(key)
}

func playWaiting(_ *testing.T, r *rig) string { return execution.ID(r.gated(asIs)) }

func playWorkerLost(t *testing.T, r *rig, again bool) string {
	worker := r.startWorker()
	release := r.upstream.holds()
	defer release()
	key := r.start(func(in *execution.Input) { in.Retry = again })
	r.paused(key, 1)
	r.decide(key, 1, approval.ActionAccept)
	testkit.Eventually(t, late, func() bool { return r.upstream.runs(key) == 1 }, "the call is under way")
	worker.Kill()
	release()
	r.startWorker()
	r.settled(key)
	return execution.ID(key)
}

func playSessionPaused(t *testing.T, r *rig) string {
	r.startWorker()
	id := r.startSession()
	key := r.start(func(in *execution.Input) { in.Session = id })
	r.paused(key, 1)
	r.decide(key, 1, approval.ActionAccept)
	r.settled(key)
	testkit.Eventually(t, late, func() bool { return r.hooks(id) == 3 }, "the session knows")
	return session.ID(id)
}

func playSessionTerminated(t *testing.T, r *rig) string {
	r.startWorker()
	id := r.startSession()
	require.NoError(t, r.sessions.Terminate(t.Context(), id, session.Terminate{By: "ann"}))
	r.awaitEnd(session.ID(id))
	return session.ID(id)
}

func playSessionExpired(t *testing.T, r *rig) string {
	r.startWorker()
	in := r.session(testkit.UniqueName())
	in.Retention, in.AbsoluteLimit = 2*time.Second, time.Minute
	require.NoError(t, r.sessions.Touch(t.Context(), in, session.Touch{At: time.Now(), Why: "use"}))
	r.awaitEnd(session.ID(in.ID))
	return session.ID(in.ID)
}

func playSessionRolledOver(t *testing.T, r *rig) string {
	r.startWorker()
	id := r.startSession()
	testkit.Eventually(t, late, func() bool {
		require.NoError(t, r.sessions.Touch(t.Context(), r.session(id), session.Touch{At: time.Now(), Why: "use"}))
		return len(r.runs(session.ID(id))) > 1
	}, "a second run")
	return session.ID(id)
}

func (r *rig) awaitEnd(workflowID string) {
	r.TB.Helper()
	testkit.Eventually(r.TB, late, func() bool {
		d, err := r.Temporal.DescribeWorkflow(r.TB.Context(), workflowID, "")
		return err == nil && d.WorkflowCloseTime != nil
	}, "the end of "+workflowID)
}

// runs are the histories of all runs of a workflow, oldest first.
func (r *rig) runs(workflowID string) []*historypb.History {
	r.TB.Helper()
	described, err := r.Temporal.DescribeWorkflow(r.TB.Context(), workflowID, "")
	require.NoError(r.TB, err)
	var runs []*historypb.History
	for run := described.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		history := r.historyOf(workflowID, run)
		runs = append(runs, history)
		events := history.GetEvents()
		run = events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return runs
}

// keep writes the fixtures of a workflow that is at rest: no task of it is under way.
func (r *rig) keep(tc scenario, release, workflowID string) {
	r.TB.Helper()
	testkit.Eventually(r.TB, late, func() bool {
		d, err := r.Temporal.DescribeWorkflow(r.TB.Context(), workflowID, "")
		return err == nil && d.RawResponse.GetPendingWorkflowTask() == nil && len(d.RawResponse.GetPendingActivities()) == 0
	}, workflowID+" at rest")
	runs := r.runs(workflowID)
	for i, history := range runs {
		r.Unseal(history)
		file := tc.name
		if len(runs) > 1 {
			file += "-" + strconv.Itoa(i+1)
		}
		require.NotContains(r.TB, history.String(), "CANARY")
		require.Equal(r.TB, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, history.GetEvents()[0].GetEventType())
		replay.Write(r.TB, replay.Path(filepath.Join("..", "..", "workflows", tc.pkg), release, file), history)
	}
}
