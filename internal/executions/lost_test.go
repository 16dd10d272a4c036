package executions_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// forgetful is a Temporal that knows nothing of the runs that it is asked for.
type forgetful struct {
	executions.Workflows

	// runs says that the run itself goes on.
	runs bool
}

func (forgetful) Resume(context.Context, approval.Identity, execution.Resume) (execution.Resumed, error) {
	return execution.Resumed{}, execution.ErrNotFound
}

func (forgetful) Cancel(context.Context, string, execution.Cancel) error {
	return execution.ErrNotFound
}

func (f forgetful) Outcome(context.Context, string) (*approval.Outcome, error) {
	if f.runs {
		return nil, nil //nolint:nilnil // as the port has it: there is no outcome yet
	}
	return nil, execution.ErrNotFound
}

func (r *rig) terminate(key string) {
	r.t.Helper()
	require.NoError(r.t, world.temporal.TerminateWorkflow(r.t.Context(), execution.ID(key), "", "by hand"))
}

// requireOutcome holds for an execution that was closed, and says so to whoever asks.
func (r *rig) requireOutcome(report executions.Report, kind approval.OutcomeKind, says string) {
	r.t.Helper()
	require.Equal(r.t, executions.StatusCompleted, report.Status)
	require.Equal(r.t, kind, report.Outcome.Kind)
	told, ok := executions.Render(r.who, report, nil)
	require.True(r.t, ok)
	require.Contains(r.t, told.Text, says)
}

// requireClosed holds for an execution that was closed while nobody had decided, and says so to whoever asks.
func (r *rig) requireClosed(report executions.Report, kind approval.OutcomeKind, says string) {
	r.t.Helper()
	r.requireOutcome(report, kind, says)
	require.Equal(r.t, approval.CodeRunEnded, report.Outcome.Code)
	row, err := world.store.Execution(r.t.Context(), report.Key)
	require.NoError(r.t, err)
	require.Equal(r.t, kind, row.Outcome.Kind)
	require.True(r.t, row.Retained.After(row.SettledAt))
	count, err := r.PausedCount(r.t.Context(), r.who)
	require.NoError(r.t, err)
	require.Zero(r.t, count, "nothing waits for ever")
}

const notCalled = "the tool was not called: make the call again"

func TestWhoeverActsOnARunThatWasEndedInTemporalIsToldThatNothingWasCalled(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(r *rig, id string) (executions.Report, error){
		"decide": func(r *rig, id string) (executions.Report, error) {
			return r.Decide(r.t.Context(), r.page(), executions.Answer{ID: id, Action: approval.ActionAccept})
		},
		"resume": func(r *rig, id string) (executions.Report, error) {
			return r.Resume(r.t.Context(), r.page(), executions.Answer{ID: id, Action: approval.ActionDecline})
		},
		"cancel": func(r *rig, id string) (executions.Report, error) {
			return r.Cancel(r.t.Context(), r.page(), id, "")
		},
		"look when it is overdue": func(r *rig, id string) (executions.Report, error) {
			r.shift.Store(int64(time.Hour))
			return r.Lookup(r.t.Context(), r.page(), id)
		},
		"attach when it is overdue": func(r *rig, id string) (executions.Report, error) {
			r.shift.Store(int64(time.Hour))
			return r.Resume(r.t.Context(), r.page(), executions.Answer{ID: id, Hold: time.Millisecond})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			paused := r.pause("put", r.name)
			r.terminate(paused.Key)
			report, err := act(r, paused.Pause.ID)
			require.NoError(t, err)
			r.requireClosed(report, approval.OutcomeFailed, notCalled)
			pause, err := r.Paused(t.Context(), r.who, paused.Pause.ID)
			require.NoError(t, err)
			require.True(t, pause.Dropped)
			again := r.resume(r.page(), paused.Pause.ID, approval.ActionAccept)
			r.requireClosed(again, approval.OutcomeFailed, notCalled)
			require.Zero(t, world.upstream.tried(r.name))
			require.Equal(t, approval.CodeRunEnded, r.audits("outcome", 1)[0].Reason)
		})
	}
}

func TestARunThatTemporalHasForgottenIsClosedByWhoeverDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	other := newRig(t, func(p *executions.Params) { p.Workflows = forgetful{Workflows: world.workflows} })
	other.who = r.who
	report, err := other.Decide(t.Context(), other.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	require.NoError(t, err)
	other.requireClosed(report, approval.OutcomeFailed, notCalled)
	require.True(t, report.Pause.Dropped)
	require.Zero(t, world.upstream.tried(r.name))
}

func TestARunThatGoesOnIsNotClosedForAQuestionThatItHasForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	other := newRig(t, func(p *executions.Params) { p.Workflows = forgetful{Workflows: world.workflows, runs: true} })
	other.who = r.who
	_, err := other.Decide(t.Context(), other.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var down *executions.UnavailableError
	require.ErrorAs(t, err, &down)
	r.requireCompleted(r.resume(r.page(), paused.Pause.ID, approval.ActionAccept), r.name)
}

func TestOfARunThatEndedWhileItsToolAskedNobodyKnowsHowFarItCame(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	asked := r.resume(r.who, r.pause("twice", r.name).Pause.ID, approval.ActionAccept)
	require.Equal(t, executions.StatusPaused, asked.Status)
	r.terminate(asked.Key)
	report, err := r.Decide(t.Context(), r.page(), executions.Answer{ID: asked.Pause.ID, Action: approval.ActionDecline})
	require.NoError(t, err)
	r.requireClosed(report, approval.OutcomeUnknown, "its run is gone from Temporal")
}

// orphan is an execution that was put and never started.
func (r *rig) orphan(name, request string) string {
	r.t.Helper()
	call := r.call("put", name)
	row := store.Execution{
		Key: approval.NewKey(), Identity: r.who.Identity, Mode: r.who.Mode, Resource: "default", Client: "tests 1", Address: call.Address,
		Request: request, Arguments: call.Arguments, Digest: policy.Digest(call.Address, call.Arguments, ""), Policy: "p", CreatedAt: time.Now(),
		Status: store.StatusRunning,
	}
	_, fresh, err := world.store.PutExecution(r.t.Context(), row)
	require.NoError(r.t, err)
	require.True(r.t, fresh)
	return row.Key
}

func TestAnExecutionThatNeverRanIsStartedByWhoeverRepeatsItAndElseGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	look := func(key string) executions.Report {
		report, err := r.Resume(t.Context(), r.who, executions.Answer{ID: key, Hold: time.Millisecond})
		require.NoError(t, err)
		return report
	}
	unnamed, named, repeated := r.orphan(r.name, ""), r.orphan(r.name, r.name+"-1"), r.orphan(r.name, r.name+"-2")
	for _, key := range []string{unnamed, named} {
		require.Equal(t, executions.StatusPending, look(key).Status, "whoever put it may just be starting it")
	}
	call := r.call("put", r.name)
	call.Request = r.name + "-2"
	report, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	require.Equal(t, repeated, report.Key)
	require.Equal(t, executions.StatusPaused, report.Status)

	r.shift.Store(int64(2 * time.Minute))
	r.requireOutcome(look(unnamed), approval.OutcomeFailed, "its run never began")
	require.Equal(t, executions.StatusPending, look(named).Status)
	r.shift.Store(int64(20 * time.Minute))
	r.requireOutcome(look(named), approval.OutcomeFailed, "its run never began")

	cancelled := r.orphan(r.name, "")
	r.shift.Store(0)
	report, err = r.Cancel(t.Context(), r.who, cancelled, "")
	require.NoError(t, err)
	r.requireOutcome(report, approval.OutcomeFailed, "its run never began")
	require.Zero(t, world.upstream.tried(r.name))
}

func TestACallWhoseRunIsGoneIsNotAskedForASecondTime(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claimed, done bool
		kind          approval.OutcomeKind
		says          string
	}{
		"not called":    {false, false, approval.OutcomeFailed, "the tool was not called"},
		"being called":  {true, false, approval.OutcomeUnknown, "may or may not have run"},
		"called before": {true, true, approval.OutcomeCompleted, "done by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			call := r.call("put", r.name)
			call.Request = r.name
			paused, err := r.Execute(t.Context(), r.who, call)
			require.NoError(t, err)
			require.Equal(t, executions.StatusPaused, paused.Status)
			claim := store.Call{Key: paused.Key, Number: execution.TheCall, Fence: 1, Idempotency: "k", ClaimedAt: time.Now()}
			if tc.claimed {
				_, claimed, err := world.store.ClaimCall(t.Context(), claim)
				require.NoError(t, err)
				require.True(t, claimed)
			}
			if tc.done {
				claim.DoneAt, claim.Result = time.Now(), []byte(`{"content":[{"type":"text","text":"done by hand"}]}`)
				require.NoError(t, world.store.FinishCall(t.Context(), claim))
			}
			r.terminate(paused.Key)
			// Temporal has forgotten it, too: nothing there keeps anybody from starting it again.
			started := &starts{forgetful: forgetful{Workflows: world.workflows}}
			other := newRig(t, func(p *executions.Params) { p.Workflows = started })
			other.who = r.who
			_, err = other.Execute(t.Context(), other.who, call)
			require.NoError(t, err)
			require.Zero(t, started.count.Load())
			other.requireOutcome(other.resume(other.page(), paused.Pause.ID, approval.ActionAccept), tc.kind, tc.says)
		})
	}
}

// starts counts the runs that are started.
type starts struct {
	forgetful

	count atomic.Int64
}

func (s *starts) Start(context.Context, execution.Input) error {
	s.count.Add(1)
	return nil
}

// own is a store that lists what one account waits for: all tests share it.
type own struct {
	*outage

	who approval.Identity
}

func (o own) Executions(ctx context.Context, filter store.ExecutionFilter) ([]store.Execution, error) {
	filter.Identity = &o.who
	return o.outage.Executions(ctx, filter)
}

func (o own) Pauses(ctx context.Context, filter store.PauseFilter) ([]store.PauseRow, error) {
	filter.Identity = &o.who
	return o.outage.Pauses(ctx, filter)
}

func TestARunThatIsGoneIsClosedAlsoWhereNobodyComes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lost, alive, orphan := r.pause("put", r.name), r.pause("put", r.name+" too"), r.orphan(r.name, "")
	r.terminate(lost.Key)
	late := newRig(t, func(p *executions.Params) {
		p.Store, p.Settings.Sweep = own{r.store, r.who.Identity}, 20*time.Millisecond
		p.Now = func() time.Time { return time.Now().Add(time.Hour) }
	})
	testkit.Eventually(t, patience, func() bool {
		row, err := world.store.Execution(t.Context(), lost.Key)
		require.NoError(t, err)
		never, err := world.store.Execution(t.Context(), orphan)
		require.NoError(t, err)
		return row.Outcome != nil && never.Outcome != nil
	}, "the run that is gone is closed, and the one that never began")
	require.NoError(t, late.Close(t.Context()))
	row, err := world.store.Execution(t.Context(), alive.Key)
	require.NoError(t, err)
	require.Nil(t, row.Outcome, "a run that goes on is left alone")
	count, err := r.PausedCount(t.Context(), r.who)
	require.NoError(t, err)
	require.Equal(t, 1, count)
}
