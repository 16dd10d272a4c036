package store_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAnInboxGivesEachMessageOnceInItsOrder(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	ctx := t.Context()
	other := again(t, dir)
	var want []store.InboxItem
	for i := range 5 {
		item := store.InboxItem{Session: "s", Replica: "r", Kind: "response", Message: fmt.Append(nil, "m", i), At: monday}
		seq, err := []*store.Store{opened, other}[i%2].PutInbox(ctx, item)
		require.NoError(t, err)
		item.Seq = seq
		want = append(want, item)
		if i > 0 {
			require.Greater(t, seq, want[i-1].Seq)
		}
	}
	first, err := other.TakeInbox(ctx, "r", 2)
	require.NoError(t, err)
	rest, err := opened.TakeInbox(ctx, "r", 0)
	require.NoError(t, err)
	require.Equal(t, want, append(first, rest...))
	none, err := opened.TakeInbox(ctx, "r", 0)
	require.NoError(t, err)
	require.Empty(t, none)
	seq, err := opened.PutInbox(ctx, want[0])
	require.NoError(t, err)
	require.Greater(t, seq, want[4].Seq, "numbers are never used again")
	seq, err = opened.PutInbox(ctx, store.InboxItem{Session: "s", Replica: "another"})
	require.NoError(t, err)
	require.NotZero(t, seq)
	mine, err := opened.TakeInbox(ctx, "r", 0)
	require.NoError(t, err)
	require.Len(t, mine, 1, "what is for another replica is left to it")
	_, err = opened.PutInbox(ctx, store.InboxItem{Session: "none"})
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestOfManyWhoTakeFromAnInboxNoTwoGetTheSame(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	handles := []*store.Store{opened, again(t, dir)}
	const messages = 30
	for i := range messages {
		_, err := opened.PutInbox(t.Context(), store.InboxItem{Session: "s", Replica: "r", Message: fmt.Append(nil, i)})
		require.NoError(t, err)
	}
	var mu sync.Mutex
	taken := map[int64]int{}
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			for {
				items, err := handles[i%2].TakeInbox(t.Context(), "r", 3)
				if err != nil || len(items) == 0 {
					return err
				}
				mu.Lock()
				for _, each := range items {
					taken[each.Seq]++
				}
				mu.Unlock()
			}
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, taken, messages)
	for seq, times := range taken {
		require.Equal(t, 1, times, "%d", seq)
	}
}

func TestADamagedMessageIsSaidOnceAndStopsNothing(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	for i := range 3 {
		_, err := opened.PutInbox(t.Context(), store.InboxItem{Session: "s", Replica: "r", Kind: "response", Message: fmt.Append(nil, i)})
		require.NoError(t, err)
	}
	tamper(t, dir, `UPDATE mcp_inbox SET kind = 'cancelled' WHERE seq = 2`)
	items, err := opened.TakeInbox(t.Context(), "r", 0)
	requireCorrupt(t, err, "mcp_inbox", "message", "seq 2")
	require.Len(t, items, 2)
	items, err = opened.TakeInbox(t.Context(), "r", 0)
	require.NoError(t, err)
	require.Empty(t, items)
}
