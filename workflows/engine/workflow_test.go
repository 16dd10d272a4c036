package engine_test

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
	"pgregory.net/rapid"

	activities "github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

// world is an engine whose watches end when a test says so.
type world struct {
	t   *testing.T
	env *testsuite.TestWorkflowEnvironment

	mu      sync.Mutex
	watches []string
	// onWatch answers a watch, by its number from 1; nil makes each last until it is canceled.
	onWatch func(ctx context.Context, n int) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	w := &world{t: t, env: suite.NewTestWorkflowEnvironment()}
	w.env.SetTestTimeout(30 * time.Second)
	w.env.RegisterWorkflowWithOptions(engine.Workflow, workflow.RegisterOptions{Name: engine.WorkflowName})
	w.env.RegisterActivityWithOptions(w.watch, activity.RegisterOptions{Name: activities.WatchName})
	return w
}

func (w *world) watch(ctx context.Context, in activities.WatchRequest) (activities.WatchResult, error) {
	w.mu.Lock()
	w.watches = append(w.watches, in.EngineID)
	n, answer := len(w.watches), w.onWatch
	w.mu.Unlock()
	if answer == nil {
		return activities.WatchResult{}, activity.ErrResultPending
	}
	return activities.WatchResult{Reason: "no connections"}, answer(ctx, n)
}

func (w *world) at(after time.Duration, do func()) { w.env.RegisterDelayedCallback(do, after) }

func (w *world) snapshot() engine.Snapshot {
	w.t.Helper()
	value, err := w.env.QueryWorkflow(engine.QuerySnapshot)
	require.NoError(w.t, err)
	var s engine.Snapshot
	require.NoError(w.t, value.Get(&s))
	return s
}

func (w *world) run() error {
	w.t.Helper()
	w.env.ExecuteWorkflow(engine.WorkflowName, &engine.State{EngineID: "e1"})
	require.True(w.t, w.env.IsWorkflowCompleted())
	return w.env.GetWorkflowError()
}

// rollsOver runs the workflow until it goes on as a new run and returns the state that it hands over.
func (w *world) rollsOver() engine.State {
	w.t.Helper()
	var next *workflow.ContinueAsNewError
	require.ErrorAs(w.t, w.run(), &next)
	require.Equal(w.t, engine.WorkflowName, next.WorkflowType.Name)
	var state engine.State
	require.NoError(w.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &state))
	return state
}

func TestAWatchEndsWithTheLastConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onWatch = func(context.Context, int) error { return nil }
	require.NoError(t, w.run())
	require.Equal(t, []string{"e1"}, w.watches)
	require.Equal(t, 1, w.snapshot().Watches)
}

func TestAConnectionAddedWhileTheWatchEndsKeepsItGoing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onWatch = func(_ context.Context, n int) error {
		if n == 1 {
			w.env.SignalWorkflow(engine.SignalConnectionsChanged, nil)
		}
		return nil
	}
	require.NoError(t, w.run())
	require.Len(t, w.watches, 2, "it looks again before it ends")
}

func TestSignalsDoNotDisturbAWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 20 {
		w.at(time.Duration(i)*time.Minute, func() { w.env.SignalWorkflow(engine.SignalConnectionsChanged, nil) })
	}
	w.at(time.Hour, func() {
		require.Len(t, w.watches, 1)
		require.Equal(t, "e1", w.snapshot().EngineID)
		w.env.CancelWorkflow()
	})
	require.ErrorContains(t, errors.Unwrap(w.run()), "canceled")
}

func TestABrokenWatchIsBegunAgainByTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onWatch = func(_ context.Context, n int) error {
		if n < 5 {
			return errors.New("the event stream broke off")
		}
		return nil
	}
	require.NoError(t, w.run())
	require.Len(t, w.watches, 5)
	require.Equal(t, 1, w.snapshot().Watches, "tries of one watch")
}

func TestAWatchGoesOnAsANewRunWhenItsHistoryIsNoLongerSmall(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		due  func(*world)
	}{
		{"many signals", func(w *world) { w.env.SetCurrentHistoryLength(400) }},
		{"suggested by the server", func(w *world) { w.env.SetContinueAsNewSuggested(true) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.at(time.Minute, func() {
				tc.due(w)
				w.env.SignalWorkflow(engine.SignalConnectionsChanged, nil)
			})
			next := w.rollsOver()
			require.Equal(t, "e1", next.EngineID)
			require.Equal(t, 1, next.Watches)
			require.False(t, next.WatchingSince.IsZero())
		})
	}
}

func TestPropertyAnEngineIDReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "engine")
		got, err := engine.ParseID(engine.ID(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	_, err := engine.ParseID("connection:a:b:c")
	require.ErrorIs(t, err, engine.ErrNotAnEngineID)
}
