package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func call(n, number int) store.Call {
	return store.Call{Key: keyOf(n), Number: number, Fence: 1, Idempotency: "first", ClaimedAt: monday}
}

func finishCall(t *testing.T, s *store.Store, want store.Call) {
	t.Helper()
	_, claimed, err := s.ClaimCall(t.Context(), want)
	require.NoError(t, err)
	require.True(t, claimed)
	want.DoneAt, want.Result = monday.Add(time.Second), []byte(`{"content":"result-s3cr3t"}`)
	require.NoError(t, s.FinishCall(t.Context(), want))
}

// firstCorrupt is the first error that is of a damaged row.
func firstCorrupt(errs ...error) error {
	for _, err := range errs {
		var corrupt *store.CorruptRowError
		if errors.As(err, &corrupt) {
			return err
		}
	}
	return nil
}

func TestACallIsOfTheHighestFenceUntilItIsDone(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	other := again(t, dir)
	first := call(1, 1)
	got, claimed, err := opened.ClaimCall(ctx, first)
	require.NoError(t, err)
	require.True(t, claimed)
	require.Equal(t, first, got)
	second := first
	second.Fence, second.ClaimedAt, second.Idempotency = 2, monday.Add(time.Minute), "second"
	for _, tc := range []struct {
		want    store.Call
		claimed bool
	}{{first, false}, {second, true}, {second, false}, {first, false}} {
		got, claimed, err = other.ClaimCall(ctx, tc.want)
		require.NoError(t, err)
		require.Equal(t, tc.claimed, claimed, "fence %d", tc.want.Fence)
	}
	second.Idempotency = "first"
	require.Equal(t, second, got, "the upstream sees the same key each time")

	first.Result, first.DoneAt = []byte("late"), monday.Add(time.Hour)
	require.ErrorIs(t, opened.FinishCall(ctx, first), store.ErrLeaseLost)
	dropped, err := opened.DropCall(ctx, keyOf(1), 1, 1)
	require.NoError(t, err)
	require.False(t, dropped)
	second.Result, second.DoneAt, second.ToolError = []byte("answer"), monday.Add(time.Hour), true
	require.NoError(t, other.FinishCall(ctx, second))
	repeated := second
	repeated.Result = []byte("again")
	require.NoError(t, other.FinishCall(ctx, repeated))
	dropped, err = other.DropCall(ctx, keyOf(1), 1, 2)
	require.NoError(t, err)
	require.False(t, dropped, "it is done")
	third := call(1, 1)
	third.Fence = 3
	got, claimed, err = opened.ClaimCall(ctx, third)
	require.NoError(t, err)
	require.False(t, claimed)
	require.Equal(t, second, got)
	got, err = again(t, dir).Call(ctx, keyOf(1), 1)
	require.NoError(t, err)
	require.Equal(t, second, got)
}

func TestACallThatWasNotSentIsLikeNone(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	_, _, err := opened.ClaimCall(ctx, call(1, 1))
	require.NoError(t, err)
	for _, first := range []bool{true, false} {
		dropped, err := opened.DropCall(ctx, keyOf(1), 1, 1)
		require.NoError(t, err)
		require.Equal(t, first, dropped)
	}
	_, err = opened.Call(ctx, keyOf(1), 1)
	require.ErrorIs(t, err, store.ErrNotFound)
	require.ErrorIs(t, opened.FinishCall(ctx, call(1, 1)), store.ErrLeaseLost)
	_, claimed, err := opened.ClaimCall(ctx, call(1, 1))
	require.NoError(t, err)
	require.True(t, claimed)
	for _, bad := range []store.Call{{Number: 1, Fence: 1}, {Key: "k", Fence: 1}, {Key: "k", Number: 1}} {
		_, _, err := opened.ClaimCall(ctx, bad)
		require.Error(t, err)
	}
}

func TestAResultOf10MiBIsKept(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	want := call(1, 1)
	_, _, err := opened.ClaimCall(ctx, want)
	require.NoError(t, err)
	want.Result, want.DoneAt = bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16), monday
	require.NoError(t, opened.FinishCall(ctx, want))
	got, err := again(t, dir).Call(ctx, keyOf(1), 1)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Result, got.Result))
}

func TestADirectCallIsBegunOnceForItsNameAndIdentity(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	others := direct("a")
	others.Identity = approval.Identity{Account: "bob", Organisation: "acme"}
	late := direct("a")
	late.At = monday.Add(time.Hour)
	existing, fresh, err := opened.BeginDirect(ctx, []store.Direct{direct("a"), late, direct("b"), others})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true, true}, fresh)
	require.Equal(t, []store.Direct{direct("a"), direct("a"), direct("b"), others}, existing)

	done := direct("a")
	done.Result, done.DoneAt, done.ToolError = []byte("result-s3cr3t"), monday.Add(time.Second), true
	require.NoError(t, opened.FinishDirect(ctx, done))
	repeated := done
	repeated.Result = []byte("again")
	require.NoError(t, opened.FinishDirect(ctx, repeated), "the first stays")
	elsewhere := done
	elsewhere.Address = "shell.run"
	require.ErrorIs(t, opened.FinishDirect(ctx, elsewhere), store.ErrNotFound)
	require.ErrorIs(t, opened.FinishDirect(ctx, direct("none")), store.ErrNotFound)
	other := again(t, dir)
	existing, fresh, err = other.BeginDirect(ctx, []store.Direct{late})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, fresh)
	require.Equal(t, []store.Direct{done}, existing)

	for name, want := range map[string]bool{"a": false, "b": true, "none": false} {
		dropped, err := other.DropDirect(ctx, direct(name))
		require.NoError(t, err)
		require.Equal(t, want, dropped, name)
	}
	_, err = other.Direct(ctx, ann, "b")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, _, err = other.BeginDirect(ctx, []store.Direct{direct("c"), {Name: "d"}})
	require.Error(t, err)
	_, err = other.Direct(ctx, ann, "c")
	require.ErrorIs(t, err, store.ErrNotFound, "all or none")
	pruned, err := other.PruneDirects(ctx, monday.Add(time.Microsecond))
	require.NoError(t, err)
	require.EqualValues(t, 2, pruned)
}

func TestTheAuditIsReadByWhatAFilterSays(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	bob := approval.Identity{Account: "bob", Organisation: "acme"}
	lines := make([]store.Audit, 7)
	for i := range lines {
		lines[i] = auditLine()
		switch i {
		case 1:
			lines[i].Identity = bob
		case 2:
			lines[i] = store.Audit{At: monday, Identity: ann, Action: "session-terminate"}
		case 3:
			lines[i].Identity.Organisation = "other"
		case 4:
			lines[i].Address, lines[i].Execution = "shell.run", keyOf(2)
		}
	}
	require.NoError(t, opened.PutAudit(ctx))
	require.NoError(t, opened.PutAudit(ctx, lines[:6]...))
	require.NoError(t, again(t, dir).PutAudit(ctx, lines[6]))
	for i := range lines {
		lines[i].ID = int64(i + 1)
	}
	for _, tc := range []struct {
		filter store.AuditFilter
		want   []int
	}{
		{store.AuditFilter{}, []int{6, 5, 4, 3, 2, 1, 0}},
		{store.AuditFilter{Limit: 2, Before: 6}, []int{4, 3}},
		{store.AuditFilter{Identity: &bob}, []int{1}},
		{store.AuditFilter{Organisation: "acme", Before: 4}, []int{2, 1, 0}},
		{store.AuditFilter{Execution: keyOf(2)}, []int{4}},
		{store.AuditFilter{Session: "s", Identity: &ann}, []int{6, 5, 4, 0}},
		{store.AuditFilter{Address: "shell.run"}, []int{4}},
		{store.AuditFilter{Address: "none"}, nil},
	} {
		found, err := opened.AuditLog(ctx, tc.filter)
		require.NoError(t, err)
		var want []store.Audit
		for _, i := range tc.want {
			want = append(want, lines[i])
		}
		require.Equal(t, want, found, "%+v", tc.filter)
	}
}

func TestNothingIsClaimedForWhatIsSettledAndNothingIsSettledAsUncalledThatIsClaimed(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	uncalled := func(n int) store.Ending {
		return store.Ending{
			Key: keyOf(n), Outcome: approval.Outcome{Kind: approval.OutcomeFailed, At: monday}, Retained: monday.Add(time.Hour), Unclaimed: 1,
		}
	}
	putExecution(t, opened, execution(1))
	require.NoError(t, opened.RecordOutcome(ctx, uncalled(1)))
	_, claimed, err := opened.ClaimCall(ctx, call(1, 1))
	require.ErrorIs(t, err, store.ErrSettled)
	require.False(t, claimed)

	putExecution(t, opened, execution(2))
	_, claimed, err = opened.ClaimCall(ctx, call(2, 1))
	require.NoError(t, err)
	require.True(t, claimed)
	require.ErrorIs(t, opened.RecordOutcome(ctx, uncalled(2)), store.ErrClaimed)
	row, err := opened.Execution(ctx, keyOf(2))
	require.NoError(t, err)
	require.Nil(t, row.Outcome)
	// A higher fence takes nothing over any more once it is settled.
	require.NoError(t, opened.SettleExecution(ctx, keyOf(2), completed(), monday.Add(time.Hour)))
	found, claimed, err := opened.ClaimCall(ctx, store.Call{Key: keyOf(2), Number: 1, Fence: 9, Idempotency: "k", ClaimedAt: monday})
	require.NoError(t, err)
	require.False(t, claimed)
	require.EqualValues(t, 1, found.Fence)
}
