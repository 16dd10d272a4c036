package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func putExecution(t *testing.T, s *store.Store, row store.Execution) {
	t.Helper()
	_, fresh, err := s.PutExecution(t.Context(), row)
	require.NoError(t, err)
	require.True(t, fresh)
}

func TestAnExecutionIsKeptBeforeItStartsAndAfterItHasEnded(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	want := execution(1)
	putExecution(t, opened, want)
	got, err := again(t, dir).Execution(ctx, want.Key)
	require.NoError(t, err)
	require.Equal(t, want, got)

	outcome := completed()
	require.NoError(t, opened.SettleExecution(ctx, want.Key, outcome, monday.Add(time.Hour)))
	require.NoError(t, opened.SettleExecution(ctx, want.Key, approval.Outcome{Kind: approval.OutcomeFailed}, monday), "the first stays")
	want.Status, want.SettledAt, want.Outcome, want.Retained = "completed", outcome.At, &outcome, monday.Add(time.Hour)
	got, err = again(t, dir).Execution(ctx, want.Key)
	require.NoError(t, err)
	require.Equal(t, want, got)

	_, err = opened.Execution(ctx, keyOf(2))
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, opened.SettleExecution(ctx, keyOf(2), outcome, monday), store.ErrNotFound)
	require.Error(t, opened.SettleExecution(ctx, want.Key, approval.Outcome{}, monday))
}

func TestACallThatItsCallerHasNamedIsPutOnce(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	first := execution(1)
	putExecution(t, opened, first)
	repeated := execution(2)
	repeated.Request, repeated.Arguments = first.Request, []byte("{}")
	existing, fresh, err := again(t, dir).PutExecution(ctx, repeated)
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, first, existing)
	_, err = opened.Execution(ctx, repeated.Key)
	require.ErrorIs(t, err, store.ErrNotFound)
	existing, err = opened.ExecutionByRequest(ctx, ann, first.Request)
	require.NoError(t, err)
	require.Equal(t, first, existing)
	_, err = opened.ExecutionByRequest(ctx, ann, "other")
	require.ErrorIs(t, err, store.ErrNotFound)

	existing, fresh, err = opened.PutExecution(ctx, first)
	require.NoError(t, err)
	require.False(t, fresh, "the same once more")
	require.Equal(t, first, existing)

	others := execution(3)
	others.Identity.Account, others.Request = "bob", first.Request
	putExecution(t, opened, others)
	stolen := execution(1)
	stolen.Identity.Account = "bob"
	stolen.Request = "new"
	_, _, err = opened.PutExecution(ctx, stolen)
	require.ErrorIs(t, err, store.ErrExists)
	for i := 4; i < 6; i++ {
		nameless := execution(i)
		nameless.Request = ""
		putExecution(t, opened, nameless)
	}
	_, _, err = opened.PutExecution(ctx, store.Execution{Key: "k", Identity: ann})
	require.Error(t, err)
}

func TestExecutionsAreListedByWhatAFilterSays(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	bob := approval.Identity{Account: "bob", Organisation: "acme"}
	elsewhere := approval.Identity{Account: "ann", Organisation: "other"}
	for n, who := range []approval.Identity{ann, bob, elsewhere, ann, bob} {
		row := execution(n)
		row.Identity = who
		if n == 4 {
			row.Session = ""
		}
		putExecution(t, opened, row)
	}
	require.NoError(t, opened.SettleExecution(ctx, keyOf(0), completed(), monday))
	require.NoError(t, opened.SettleExecution(ctx, keyOf(1), approval.Outcome{Kind: approval.OutcomeDeclined}, monday))
	for _, tc := range []struct {
		filter store.ExecutionFilter
		want   []int
	}{
		{store.ExecutionFilter{}, []int{4, 3, 2, 1, 0}},
		{store.ExecutionFilter{Limit: 2}, []int{4, 3}},
		{store.ExecutionFilter{Before: execution(3).Cursor(), Limit: 2}, []int{2, 1}},
		{store.ExecutionFilter{Identity: &ann}, []int{3, 0}},
		{store.ExecutionFilter{Organisation: "acme"}, []int{4, 3, 1, 0}},
		{store.ExecutionFilter{Organisation: "acme", Before: execution(3).Cursor()}, []int{1, 0}},
		{store.ExecutionFilter{Session: "s", Identity: &bob}, []int{1}},
		{store.ExecutionFilter{Session: "none"}, nil},
		{store.ExecutionFilter{Address: "github.merge", Identity: &ann}, []int{3, 0}},
		{store.ExecutionFilter{Address: "none"}, nil},
		{store.ExecutionFilter{Status: []string{"completed"}}, []int{0}},
		{store.ExecutionFilter{Status: []string{"completed", "declined"}, Before: execution(1).Cursor()}, []int{0}},
		{store.ExecutionFilter{Status: []string{"running", "waiting"}, Identity: &ann}, []int{3}},
	} {
		found, err := opened.Executions(ctx, tc.filter)
		require.NoError(t, err)
		var got []int
		for _, each := range found {
			got = append(got, int(each.CreatedAt.Sub(monday)/time.Second))
		}
		require.Equal(t, tc.want, got, "%+v", tc.filter)
	}
}

func TestWhatIsRetainedNoLongerIsForgottenWhole(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	for n := range 70 {
		putExecution(t, opened, execution(n))
		if n == 0 || n == 3 {
			_, _, err := opened.ClaimCall(ctx, call(n, 1))
			require.NoError(t, err)
		}
		if n > 2 {
			require.NoError(t, opened.SettleExecution(ctx, keyOf(n), completed(), monday.Add(time.Hour)))
		}
	}
	require.NoError(t, opened.SettleExecution(ctx, keyOf(1), completed(), time.Time{}), "for ever")
	require.NoError(t, opened.SettleExecution(ctx, keyOf(2), completed(), monday.Add(2*time.Hour)))
	for _, n := range []int{0, 3} {
		require.NoError(t, opened.RecordPaused(ctx, pause(n, 1), step(n, 1, store.EventPaused)))
	}
	pruned, err := opened.PruneExecutions(ctx, monday.Add(time.Hour-time.Microsecond))
	require.NoError(t, err)
	require.Zero(t, pruned)
	pruned, err = opened.PruneExecutions(ctx, monday.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 67, pruned)

	for n, kept := range map[int]bool{0: true, 3: false} {
		_, pauseErr := opened.Pause(ctx, pause(n, 1).ID)
		_, callErr := opened.Call(ctx, keyOf(n), 1)
		_, rowErr := opened.Execution(ctx, keyOf(n))
		events, err := opened.ExecutionEvents(ctx, keyOf(n), 0)
		require.NoError(t, err)
		if kept {
			require.NoError(t, pauseErr)
			require.NoError(t, callErr)
			require.NoError(t, rowErr)
			require.Len(t, events, 1)
			continue
		}
		require.ErrorIs(t, pauseErr, store.ErrNotFound)
		require.ErrorIs(t, callErr, store.ErrNotFound)
		require.ErrorIs(t, rowErr, store.ErrNotFound)
		require.Empty(t, events)
	}
	left, err := opened.Executions(ctx, store.ExecutionFilter{})
	require.NoError(t, err)
	require.Len(t, left, 3)
	again := execution(3)
	again.Key = keyOf(100)
	putExecution(t, opened, again)
}

func TestNobodyChangesWhatIsAskedOrWhatCameOfItWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper, table, column string }{
		{"another account", `UPDATE execution SET account = 'eve'`, "execution", "arguments"},
		{"another organisation", `UPDATE execution SET organisation = 'evil'`, "execution", "arguments"},
		{"another session", `UPDATE execution SET session = 't'`, "execution", "arguments"},
		{"another tool", `UPDATE execution SET address = 'shell.run'`, "execution", "arguments"},
		{"another digest", `UPDATE execution SET digest = 'e'`, "execution", "arguments"},
		{"other rules", `UPDATE execution SET policy = 'q'`, "execution", "arguments"},
		{"another mode", `UPDATE execution SET mode = 'browser'`, "execution", "arguments"},
		{"the outcome as arguments", `UPDATE execution SET arguments = outcome`, "execution", "arguments"},
		{"no outcome", `UPDATE execution SET outcome = NULL`, "execution", "outcome"},
		{"another outcome", `UPDATE execution SET status = 'declined'`, "execution", "status"},
		{"a pause of another account", `UPDATE execution_pause SET account = 'eve'`, "execution_pause", "pause"},
		{"a pause of another tool", `UPDATE execution_pause SET address = 'shell.run'`, "execution_pause", "pause"},
		{"a pause with another digest", `UPDATE execution_pause SET digest = 'e'`, "execution_pause", "pause"},
		{"a pause of another execution", `UPDATE execution_pause SET execution = 'e'`, "execution_pause", "pause"},
		{"a pause that waits again", `UPDATE execution_pause SET open = 1`, "execution_pause", "open"},
		{"the result of another call", `UPDATE upstream_call SET result = (SELECT result FROM upstream_call WHERE number = 2)`, "upstream_call", "result"},
		{"no result", `UPDATE upstream_call SET result = NULL`, "upstream_call", "result"},
		{"the result of another's call", `UPDATE direct_call SET account = 'eve'`, "direct_call", "result"},
		{"the result of another tool", `UPDATE direct_call SET address = 'shell.run'`, "direct_call", "result"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			ctx := t.Context()
			putExecution(t, opened, execution(1))
			row := pause(1, 1)
			require.NoError(t, opened.PutPause(ctx, row))
			require.NoError(t, opened.DecidePause(ctx, row.ID, accepted(row.Pause)))
			for number := 1; number <= 2; number++ {
				finishCall(t, opened, call(1, number))
			}
			require.NoError(t, opened.SettleExecution(ctx, keyOf(1), completed(), monday))
			_, _, err := opened.BeginDirect(ctx, []store.Direct{direct("a")})
			require.NoError(t, err)
			require.NoError(t, opened.FinishDirect(ctx, direct("a")))
			tamper(t, dir, tc.tamper)

			_, executionErr := opened.Execution(ctx, keyOf(1))
			_, pauseErr := opened.Pause(ctx, row.ID)
			_, callErr := opened.Call(ctx, keyOf(1), 1)
			_, directErr := opened.Direct(ctx, ann, "a")
			_, stolenErr := opened.Direct(ctx, approval.Identity{Account: "eve", Organisation: ann.Organisation}, "a")
			errs := map[string]error{"execution": executionErr, "execution_pause": pauseErr, "upstream_call": callErr, "direct_call": directErr}
			if tc.table == "direct_call" && directErr != nil && stolenErr != nil {
				errs[tc.table] = firstCorrupt(directErr, stolenErr)
			}
			requireCorrupt(t, errs[tc.table], tc.table, tc.column, "")
			require.NotContains(t, errs[tc.table].Error(), "s3cr3t")
		})
	}
}
