package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "github.com/holdfast-mcp/holdfast/activities/fleet"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
)

// inOrder is how a pass ends that has nothing to do.
var inOrder = apperr.NotDue("in order: 3 connections", 5*time.Minute)

// world is a fleet whose passes end as a test says.
type world struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment

	mu     sync.Mutex
	passes []activities.ReconcileRequest
	// onPass answers a pass, by its number from 1; nil finds everything in order.
	onPass func(n int, in activities.ReconcileRequest) (activities.ReconcileResult, error)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment()}
	w.env.SetTestTimeout(30 * time.Second)
	w.env.RegisterWorkflowWithOptions(fleet.Workflow, workflow.RegisterOptions{Name: fleet.WorkflowName})
	w.env.RegisterActivityWithOptions(w.pass, activity.RegisterOptions{Name: activities.ReconcileName})
	return w
}

func (w *world) pass(_ context.Context, in activities.ReconcileRequest) (activities.ReconcileResult, error) {
	w.mu.Lock()
	w.passes = append(w.passes, in)
	n, answer := len(w.passes), w.onPass
	w.mu.Unlock()
	switch {
	case answer != nil:
		return answer(n, in)
	case in.Report:
		return activities.ReconcileResult{Wanted: 3}, nil
	default:
		return activities.ReconcileResult{}, inOrder
	}
}

func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func (w *world) ask() { w.env.SignalWorkflow(fleet.SignalReconcileNow, nil) }

func (w *world) snapshot() fleet.Snapshot {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(fleet.QuerySnapshot)
	require.NoError(w.t, err)
	var s fleet.Snapshot
	require.NoError(w.t, value.Get(&s))
	return s
}

// run runs the workflow until it is canceled or goes on as a new run.
func (w *world) run(in fleet.State) error {
	w.t.Helper()
	w.env.ExecuteWorkflow(fleet.WorkflowName, &in)
	require.True(w.t, w.env.IsWorkflowCompleted())
	return w.env.GetWorkflowError()
}

// until runs the workflow for a while.
func (w *world) until(after time.Duration) {
	w.t.Helper()
	w.at(after, w.env.CancelWorkflow)
	require.ErrorContains(w.t, errors.Unwrap(w.run(fleet.State{})), "canceled")
}

func TestWhileAllIsInOrderThePassesAreTriesOfOneActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	started := 0
	w.env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { started++ })
	w.until(61 * time.Minute)
	require.Len(t, w.passes, 13, "every five minutes")
	require.Zero(t, w.snapshot().Passes, "nothing was changed, nothing is recorded")
}

func TestAPassThatChangesSomethingIsRecordedAndFollowedByAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onPass = func(n int, _ activities.ReconcileRequest) (activities.ReconcileResult, error) {
		if n == 1 {
			return activities.ReconcileResult{Wanted: 3, Started: 2, Closed: 1, Engines: 1}, nil
		}
		return activities.ReconcileResult{}, inOrder
	}
	w.until(time.Minute)
	require.Len(t, w.passes, 2)
	got := w.snapshot()
	require.Equal(t, [4]int{1, 2, 1, 1}, [4]int{got.Passes, got.Started, got.Closed, got.Engines})
	require.Equal(t, 3, got.Last.Result.Wanted)
}

func TestPassesThatNeverComeToRestAreNotMadeWithoutAPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onPass = func(int, activities.ReconcileRequest) (activities.ReconcileResult, error) {
		return activities.ReconcileResult{Started: 1}, nil
	}
	w.until(time.Minute)
	require.LessOrEqual(t, len(w.passes), 13)
}

func TestAPassThatIsAskedForIsMadeAtOnceAndReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.at(2*time.Minute, w.ask)
	w.at(2*time.Minute+time.Second, func() {
		got := w.snapshot()
		require.Equal(t, 1, got.Passes)
		require.Equal(t, 3, got.Last.Result.Wanted)
	})
	w.until(3 * time.Minute)
	require.Equal(t, []activities.ReconcileRequest{{}, {Report: true}, {}}, w.passes)
}

func TestABrokenPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onPass = func(n int, _ activities.ReconcileRequest) (activities.ReconcileResult, error) {
		if n < 4 {
			return activities.ReconcileResult{}, errors.New("database is locked")
		}
		return activities.ReconcileResult{}, inOrder
	}
	w.until(time.Minute)
	require.Len(t, w.passes, 4)
}

func TestTheFleetGoesOnAsANewRunAndKeepsItsCountsAndWishes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		due  func(*world)
	}{
		{"many events", func(w *world) { w.env.SetCurrentHistoryLength(400) }},
		{"suggested by the server", func(w *world) { w.env.SetContinueAsNewSuggested(true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.at(time.Minute, func() {
				tc.due(w)
				w.ask()
			})
			var next *workflow.ContinueAsNewError
			require.ErrorAs(t, w.run(fleet.State{Passes: 7, Started: 5}), &next)
			require.Equal(t, fleet.WorkflowName, next.WorkflowType.Name)
			var state fleet.State
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &state))
			require.Equal(t, 7, state.Passes)
			require.Equal(t, 5, state.Started)
			require.True(t, state.Asked, "what was asked for is done by the next run")
		})
	}
}

func TestInstallationsThatShareANamespaceHaveFleetsOfTheirOwn(t *testing.T) {
	t.Parallel()
	require.Equal(t, "fleet", fleet.ID("holdfast"))
	require.Equal(t, "fleet:other%3Aqueue", fleet.ID("other:queue"))
}
