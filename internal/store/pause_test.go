package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAPauseHasOneEndTheFirst(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	putExecution(t, opened, execution(1))
	want := pause(1, 1)
	require.NoError(t, opened.PutPause(ctx, want))
	other := again(t, dir)
	got, err := other.Pause(ctx, want.ID)
	require.NoError(t, err)
	want.Change = 1
	require.Equal(t, want, got)
	require.Equal(t, store.StatusWaiting, statusOf(t, other, 1))

	require.NoError(t, other.DecidePause(ctx, want.ID, accepted(want.Pause)))
	require.Equal(t, store.StatusRunning, statusOf(t, other, 1))
	expired := want.Pause
	expired.Expired = true
	require.NoError(t, opened.DecidePause(ctx, want.ID, expired))
	require.NoError(t, opened.PutPause(ctx, pause(1, 1)), "one that is there stays")
	want.Pause, want.Change = accepted(want.Pause), 2
	got, err = opened.Pause(ctx, want.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.ErrorIs(t, opened.DecidePause(ctx, pause(1, 2).ID, expired), store.ErrNotFound)
	require.ErrorContains(t, opened.DecidePause(ctx, want.ID, pause(1, 1).Pause), "it has none")
	_, err = opened.Pause(ctx, pause(1, 2).ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Error(t, opened.PutPause(ctx, store.PauseRow{Key: "k", Identity: ann}))
}

func TestAnExecutionWaitsAsLongAsOneOfItsPauses(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	putExecution(t, opened, execution(1))
	for number := 1; number <= 2; number++ {
		require.NoError(t, opened.PutPause(ctx, pause(1, number)))
	}
	require.NoError(t, opened.DecidePause(ctx, pause(1, 1).ID, accepted(pause(1, 1).Pause)))
	require.Equal(t, store.StatusWaiting, statusOf(t, opened, 1))
	dropped := pause(1, 2).Pause
	dropped.Dropped = true
	require.NoError(t, opened.RecordOutcome(ctx, store.Ending{
		Key: keyOf(1), Outcome: approval.Outcome{Kind: approval.OutcomeCancelled, At: monday}, Dropped: []approval.Pause{dropped},
		Events: []store.ExecutionEvent{step(1, 1, store.EventOutcome)},
	}))
	require.Equal(t, "cancelled", statusOf(t, opened, 1))
	rows, err := opened.Pauses(ctx, store.PauseFilter{Key: keyOf(1)})
	require.NoError(t, err)
	require.Len(t, rows, 2)
	require.True(t, rows[0].Dropped)
	require.Equal(t, approval.OutcomeCancelled, rows[0].Outcome)
	require.Equal(t, approval.ActionAccept, rows[1].Decision.Action)
	require.Equal(t, approval.OutcomeCancelled, rows[1].Outcome)
	events, err := opened.ExecutionEvents(ctx, keyOf(1), 0)
	require.NoError(t, err)
	require.Equal(t, []store.ExecutionEvent{step(1, 1, store.EventOutcome)}, events)
}

func TestAStepIsWrittenWholeAndOnce(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	putExecution(t, opened, execution(1))
	bad := []store.ExecutionEvent{step(1, 2, store.EventDecided), {Key: keyOf(1)}}
	require.NoError(t, opened.RecordPaused(ctx, pause(1, 1), step(1, 1, store.EventPaused)))
	require.Error(t, opened.RecordPaused(ctx, pause(1, 2), bad[1]))
	require.Error(t, opened.RecordDecided(ctx, accepted(pause(1, 1).Pause), bad))
	require.Error(t, opened.RecordOutcome(ctx, store.Ending{Key: keyOf(1), Outcome: completed(), Events: bad}))
	_, err := opened.Pause(ctx, pause(1, 2).ID)
	require.ErrorIs(t, err, store.ErrNotFound)
	row, err := opened.Pause(ctx, pause(1, 1).ID)
	require.NoError(t, err)
	require.True(t, row.Open())
	require.Equal(t, store.StatusWaiting, statusOf(t, opened, 1))

	for range 2 {
		require.NoError(t, opened.RecordPaused(ctx, pause(1, 1), step(1, 1, store.EventPaused)))
		require.NoError(t, opened.RecordDecided(ctx, accepted(pause(1, 1).Pause),
			[]store.ExecutionEvent{step(1, 2, store.EventDecided), step(1, 3, store.EventResuming)}))
		require.NoError(t, opened.RecordOutcome(ctx, store.Ending{
			Key: keyOf(1), Outcome: completed(), Retained: monday.Add(time.Hour), Events: []store.ExecutionEvent{step(1, 4, store.EventOutcome)},
		}))
	}
	require.NoError(t, opened.AppendExecutionEvent(ctx, step(1, 4, store.EventPaused)))
	require.NoError(t, opened.AppendExecutionEvent(ctx, step(1, 5, store.EventSettled)))
	events, err := opened.ExecutionEvents(ctx, keyOf(1), 1)
	require.NoError(t, err)
	require.Equal(t, []store.ExecutionEvent{
		step(1, 2, store.EventDecided), step(1, 3, store.EventResuming), step(1, 4, store.EventOutcome), step(1, 5, store.EventSettled),
	}, events)
	change, err := opened.LastChange(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 3, change, "what is repeated changes nothing")
}

func TestPausesAreListedByWhatAFilterSays(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	bob := approval.Identity{Account: "bob", Organisation: "acme"}
	elsewhere := approval.Identity{Account: "ann", Organisation: "other"}
	for n, who := range []approval.Identity{ann, bob, elsewhere, ann} {
		row := pause(n, n+1)
		row.Identity = who
		if n == 3 {
			row.Session = ""
		}
		require.NoError(t, opened.PutPause(ctx, row))
	}
	require.NoError(t, opened.DecidePause(ctx, pause(0, 1).ID, accepted(pause(0, 1).Pause)))
	yes, no := true, false
	for _, tc := range []struct {
		filter store.PauseFilter
		want   []int
	}{
		{store.PauseFilter{}, []int{4, 3, 2, 1}},
		{store.PauseFilter{Limit: 1}, []int{4}},
		{store.PauseFilter{Before: pause(2, 3).Cursor()}, []int{2, 1}},
		{store.PauseFilter{Identity: &ann}, []int{4, 1}},
		{store.PauseFilter{Identity: &ann, Open: &yes}, []int{4}},
		{store.PauseFilter{Identity: &ann, Open: &no}, []int{1}},
		{store.PauseFilter{Organisation: "acme"}, []int{4, 2, 1}},
		{store.PauseFilter{Organisation: "acme", Open: &yes, Before: pause(3, 4).Cursor()}, []int{2}},
		{store.PauseFilter{Session: "s"}, []int{3, 2, 1}},
		{store.PauseFilter{Session: "s", Identity: &bob}, []int{2}},
		{store.PauseFilter{Key: keyOf(2)}, []int{3}},
		{store.PauseFilter{Open: &yes}, []int{4, 3, 2}},
	} {
		found, err := opened.Pauses(ctx, tc.filter)
		require.NoError(t, err)
		var got []int
		for _, each := range found {
			got = append(got, each.Number)
		}
		require.Equal(t, tc.want, got, "%+v", tc.filter)
	}
	for who, want := range map[approval.Identity]int{ann: 1, bob: 1, {Account: "eve", Organisation: "acme"}: 0} {
		count, err := opened.CountOpenPauses(ctx, who)
		require.NoError(t, err)
		require.Equal(t, want, count)
	}
}

func TestWhoFollowsPausesSeesEachChange(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	follower := again(t, dir)
	last, err := follower.LastChange(ctx)
	require.NoError(t, err)
	require.Zero(t, last)
	putExecution(t, opened, execution(1))
	require.NoError(t, opened.PutPause(ctx, pause(1, 1)))
	require.NoError(t, opened.PutPause(ctx, pause(1, 2)))
	rows, err := follower.PausesSince(ctx, 0, 1)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	rest, err := follower.PausesSince(ctx, rows[0].Change, 0)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	require.Equal(t, 2, rest[0].Number)
	seen := rest[0].Change
	require.NoError(t, opened.DecidePause(ctx, pause(1, 1).ID, accepted(pause(1, 1).Pause)))
	rows, err = follower.PausesSince(ctx, seen, 0)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.NotNil(t, rows[0].Decision)
	seen = rows[0].Change
	require.NoError(t, opened.SettleExecution(ctx, keyOf(1), completed(), monday))
	rows, err = follower.PausesSince(ctx, seen, 0)
	require.NoError(t, err)
	require.Len(t, rows, 2)
	last, err = follower.LastChange(ctx)
	require.NoError(t, err)
	require.Equal(t, rows[1].Change, last)
}

func statusOf(t *testing.T, s *store.Store, n int) string {
	t.Helper()
	row, err := s.Execution(t.Context(), keyOf(n))
	require.NoError(t, err)
	return row.Status
}
