package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAConnectionThatWasNeverProbedHasTheZeroState(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	state, err := opened.Probe(t.Context(), key("a"))
	require.NoError(t, err)
	require.Zero(t, state)
	push, err := opened.LastPush(t.Context(), key("a"))
	require.NoError(t, err)
	require.Zero(t, push)
}

func TestProbesAndPushesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx, at := t.Context(), key("a")
	state := store.ProbeState{LastProbeAt: monday, LastOKAt: monday.Add(-time.Minute), Misses: 2, Canary: []byte(`{"id":"canary-s3cr3t"}`)}
	push := store.Push{Generation: 3, Revision: "r", StartedAt: monday, Deadline: monday.Add(time.Minute)}
	require.NoError(t, opened.PutProbe(ctx, at, state))
	require.NoError(t, opened.BeginPush(ctx, at, push))
	requireRuntime(t, opened, at, state, push)

	state = store.ProbeState{LastProbeAt: monday.Add(time.Second)}
	require.NoError(t, opened.PutProbe(ctx, at, state))
	push.FinishedAt = monday.Add(2 * time.Second)
	require.NoError(t, opened.FinishPush(ctx, at, push.FinishedAt))
	requireRuntime(t, opened, at, state, push)

	require.NoError(t, opened.DeleteRuntime(ctx, at))
	requireRuntime(t, opened, at, store.ProbeState{}, store.Push{})
}

func TestASecondPushWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	first := store.Push{Generation: 1, Revision: "r1", StartedAt: monday, Deadline: monday.Add(time.Minute)}
	for _, tc := range []struct {
		name     string
		finished bool
		after    time.Duration
		refused  bool
	}{
		{"while it is under way", false, 59 * time.Second, true},
		{"at the same instant", false, 0, true},
		{"after its deadline", false, time.Minute, false},
		{"once it is finished", true, time.Second, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, _ := open(t)
			at := key("a")
			require.NoError(t, opened.BeginPush(t.Context(), at, first))
			if tc.finished {
				require.NoError(t, opened.FinishPush(t.Context(), at, monday.Add(time.Millisecond)))
			}
			start := monday.Add(tc.after)
			second := store.Push{Generation: 2, Revision: "r2", StartedAt: start, Deadline: start.Add(time.Minute)}
			err := opened.BeginPush(t.Context(), at, second)
			if !tc.refused {
				require.NoError(t, err)
				requireRuntime(t, opened, at, store.ProbeState{}, second)
				return
			}
			var inFlight *store.PushInFlightError
			require.ErrorAs(t, err, &inFlight)
			require.Equal(t, first.Deadline, inFlight.Until)
			requireRuntime(t, opened, at, store.ProbeState{}, first)
		})
	}
}

func TestAPushNeedsADeadline(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	require.ErrorContains(t, opened.BeginPush(t.Context(), key("a"), store.Push{StartedAt: monday}), "deadline")
}

func TestAPushThatWasNotBegunCannotBeFinished(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	require.ErrorIs(t, opened.FinishPush(t.Context(), key("a"), monday), store.ErrNotFound)
	require.NoError(t, opened.PutProbe(t.Context(), key("a"), store.ProbeState{Misses: 1}))
	require.ErrorIs(t, opened.FinishPush(t.Context(), key("a"), monday), store.ErrNotFound)
}

func TestInFlightEndsWithAnswerOrDeadline(t *testing.T) {
	t.Parallel()
	push := store.Push{StartedAt: monday, Deadline: monday.Add(time.Minute)}
	require.False(t, store.Push{}.InFlight(monday))
	require.True(t, push.InFlight(monday))
	require.False(t, push.InFlight(push.Deadline))
	push.FinishedAt = monday
	require.False(t, push.InFlight(monday))
}

func requireRuntime(t *testing.T, opened *store.Store, at store.Key, state store.ProbeState, push store.Push) {
	t.Helper()
	gotState, err := opened.Probe(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, state, gotState)
	gotPush, err := opened.LastPush(t.Context(), at)
	require.NoError(t, err)
	require.Equal(t, push, gotPush)
}
