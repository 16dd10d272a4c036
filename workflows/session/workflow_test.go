package session_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// world is the world around one session under skipped time.
type world struct {
	t    *testing.T
	env  *testsuite.TestWorkflowEnvironment
	from time.Time

	ends []activities.EndRequest
	// storeDown is how many ends fail.
	storeDown                   int
	timers, fired, stopped, now int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment()}
	w.env.SetTestTimeout(time.Minute)
	// A busy machine may give a test no time for longer than the usual second.
	w.env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	w.env.RegisterWorkflowWithOptions(session.Workflow, workflow.RegisterOptions{Name: session.WorkflowName})
	w.env.RegisterActivityWithOptions(w.end, activity.RegisterOptions{Name: activities.EndName})
	w.env.SetOnTimerScheduledListener(func(string, time.Duration) { w.timers++; w.now++ })
	w.env.SetOnTimerFiredListener(func(string) { w.fired++; w.now-- })
	w.env.SetOnTimerCanceledListener(func(string) { w.stopped++; w.now-- })
	w.from = w.env.Now()
	return w
}

func (w *world) end(_ context.Context, in activities.EndRequest) (activities.EndResult, error) {
	if w.storeDown > 0 {
		w.storeDown--
		return activities.EndResult{}, errors.New("database is locked")
	}
	w.ends = append(w.ends, in)
	return activities.EndResult{Ended: true}, nil
}

func (w *world) input() session.Input {
	return session.Input{
		ID: "s1", Identity: approval.Identity{Account: "ann", Organisation: "default"}, Mode: approval.ModeModel, Client: "test 1",
		CreatedAt: w.from, Retention: 24 * time.Hour, AbsoluteLimit: 72 * time.Hour,
	}
}

func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func (w *world) signal(after time.Duration, name string, in any) {
	w.at(after, func() { w.env.SignalWorkflow(name, in) })
}

func (w *world) touch(after time.Duration) {
	w.signal(after, session.SignalTouch, session.Touch{At: w.from.Add(after), Why: "use"})
}

func (w *world) leases() []session.Lease {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(session.QueryLeases)
	require.NoError(w.t, err)
	var leases []session.Lease
	require.NoError(w.t, value.Get(&leases))
	return leases
}

// run runs the session to its end, and tells how long it lived.
func (w *world) run(in session.Input) (session.Snapshot, time.Duration) {
	w.t.Helper()
	w.env.ExecuteWorkflow(session.WorkflowName, in)
	require.True(w.t, w.env.IsWorkflowCompleted())
	require.NoError(w.t, w.env.GetWorkflowError())
	var s session.Snapshot
	require.NoError(w.t, w.env.GetWorkflowResult(&s))
	require.True(w.t, s.Terminated)
	require.Empty(w.t, s.Leases)
	require.Len(w.t, w.ends, 1, "its row is marked once")
	require.Equal(w.t, "s1", w.ends[0].ID)
	return s, w.ends[0].At.Sub(w.from)
}

func hook(n int, deadline time.Time) session.Hook {
	return session.Hook{PauseID: fmt.Sprintf("exec_x_%d", n), Deadline: deadline}
}

func TestASessionEndsWhenItIsNotUsedWhenItIsOldAndWhenItIsTold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		play func(*world)
		want time.Duration
	}{
		{"never used", func(*world) {}, 24 * time.Hour},
		{"used once", func(w *world) { w.touch(10 * time.Hour) }, 34 * time.Hour},
		{"used all the time", func(w *world) {
			for hour := range 100 {
				w.touch(time.Duration(hour) * time.Hour)
			}
		}, 72 * time.Hour},
		{"terminated", func(w *world) { w.signal(time.Hour, session.SignalTerminate, session.Terminate{By: "ann"}) }, time.Hour},
		{"cancelled in Temporal", func(w *world) { w.at(2*time.Hour, w.env.CancelWorkflow) }, 2 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.play(w)
			_, lived := w.run(w.input())
			require.Equal(t, tc.want, lived)
		})
	}
}

func TestATouchFromTheFutureOrThePastIsNoUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signal(time.Hour, session.SignalTouch, session.Touch{At: w.from.Add(1000 * time.Hour)})
	w.signal(2*time.Hour, session.SignalTouch, session.Touch{At: w.from.Add(-time.Hour)})
	_, lived := w.run(w.input())
	require.Equal(t, 25*time.Hour, lived)
}

func TestAsleepASessionHoldsOneTimerWhateverHappens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := func() { require.Equal(t, 1, w.now) }
	w.touch(time.Hour)
	w.at(time.Hour+time.Second, one)
	w.signal(2*time.Hour, session.SignalPaused, hook(1, w.from.Add(3*time.Hour)))
	w.at(2*time.Hour+time.Second, one)
	w.signal(2*time.Hour+time.Minute, session.SignalResuming, hook(1, w.from.Add(3*time.Hour)))
	w.signal(2*time.Hour+time.Minute, session.SignalSettled, hook(1, w.from.Add(3*time.Hour)))
	w.at(4*time.Hour, func() {
		one()
		require.Zero(t, w.fired, "nothing fires at the window's end")
	})
	w.run(w.input())
	require.Equal(t, 2, w.timers, "the second for the time by which the use has moved the end")
}

func TestAPauseIsALeaseUntilWhatFollowedFromItIsKnown(t *testing.T) {
	t.Parallel()
	// cases 40 and 42
	w := newWorld(t)
	deadline := w.from.Add(time.Hour)
	w.signal(time.Minute, session.SignalPaused, hook(1, deadline))
	w.at(2*time.Minute, func() {
		require.Equal(t, []session.Lease{{
			PauseID: "exec_x_1", Since: w.from.Add(time.Minute).UTC(), Until: deadline.Add(5 * time.Second).UTC(),
		}}, utc(w.leases()))
	})
	w.signal(3*time.Minute, session.SignalResuming, hook(1, deadline))
	w.at(4*time.Minute, func() { require.True(t, w.leases()[0].Resuming) })
	w.signal(5*time.Minute, session.SignalSettled, hook(1, deadline))
	w.signal(5*time.Minute, session.SignalPaused, hook(2, deadline))
	w.at(6*time.Minute, func() {
		require.Len(t, w.leases(), 1)
		require.Equal(t, "exec_x_2", w.leases()[0].PauseID)
	})
	w.signal(2*time.Hour, session.SignalPaused, hook(3, w.from.Add(3*time.Hour)))
	w.at(2*time.Hour+time.Second, func() {
		require.Equal(t, "exec_x_3", w.leases()[0].PauseID, "the second was over 5 s after its window")
		require.Len(t, w.leases(), 1)
	})
	got, _ := w.run(w.input())
	var hooks []string
	for _, h := range got.Hooks {
		hooks = append(hooks, h.Hook+" "+h.PauseID)
	}
	require.Equal(t, []string{"paused exec_x_1", "resuming exec_x_1", "settled exec_x_1", "paused exec_x_2", "paused exec_x_3"}, hooks)
}

func utc(leases []session.Lease) []session.Lease {
	for i := range leases {
		leases[i].Since, leases[i].Until = leases[i].Since.UTC(), leases[i].Until.UTC()
	}
	return leases
}

func TestHooksOfPausesThatAreNotKnownChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signal(time.Minute, session.SignalSettled, hook(7, w.from))
	w.signal(time.Minute, session.SignalResuming, hook(8, w.from))
	w.at(2*time.Minute, func() { require.Empty(t, w.leases()) })
	w.run(w.input())
}

func TestAStoreThatIsDownDelaysTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.storeDown = 20
	w.run(w.input())
}

func TestASessionGoesOnAsANewRunAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deadline := w.from.Add(10 * time.Hour)
	w.touch(time.Hour)
	w.signal(time.Hour, session.SignalPaused, hook(1, deadline))
	w.at(2*time.Hour, func() {
		w.env.SetCurrentHistoryLength(400)
		w.env.SignalWorkflowSkippingWorkflowTask(session.SignalResuming, hook(1, deadline))
		w.env.SignalWorkflow(session.SignalPaused, hook(2, deadline))
	})
	w.env.ExecuteWorkflow(session.WorkflowName, w.input())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.env.GetWorkflowError(), &next)
	var in session.Input
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.True(t, in.State.LastUsedAt.Equal(w.from.Add(time.Hour)))
	require.Len(t, in.State.Leases, 2)
	require.Len(t, in.State.Hooks, 3)

	again := newWorld(t)
	again.from = w.from
	again.env.SetStartTime(w.from.Add(2 * time.Hour))
	again.at(time.Second, func() { require.Len(t, again.leases(), 2) })
	_, lived := again.run(in)
	require.Equal(t, 25*time.Hour, lived)
}
