package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestIntentsAreReplacedUnderARisingRevision(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	want := store.Intent{Workspace: "w", Name: "a", Kind: store.IntentDisabled, Revision: 99, By: "me", Reason: "why", UpdatedAt: monday}
	first := putIntent(t, opened, want)
	want.Revision = 1
	require.Equal(t, want, first, "a given revision is not looked at")

	other := putIntent(t, again(t, dir), store.Intent{Account: "acme", Name: "a", Kind: store.IntentEnabled, UpdatedAt: monday})
	require.Equal(t, int64(2), other.Revision, "of the whole store")
	want.Kind = store.IntentEnabled
	replaced := putIntent(t, opened, want)
	require.Equal(t, int64(3), replaced.Revision)

	found, err := opened.Intents(ctx, store.IntentFilter{})
	require.NoError(t, err)
	require.Equal(t, []store.Intent{replaced, other}, found)

	for range 2 {
		existed, err := opened.DeleteIntent(ctx, "", "w", "a")
		require.NoError(t, err)
		require.Equal(t, len(found) == 2, existed)
		found, err = opened.Intents(ctx, store.IntentFilter{})
		require.NoError(t, err)
	}
	require.Equal(t, int64(4), putIntent(t, opened, want).Revision, "deleting gives no number back")
}

func TestIntentsAreFiltered(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, each := range []store.Intent{
		{Account: "acme", Name: "a", Kind: store.IntentEnabled},
		{Account: "acme", Name: "b", Kind: store.IntentEnabled},
		{Workspace: "w", Name: "a", Kind: store.IntentEnabled},
	} {
		putIntent(t, opened, each)
	}
	for _, tc := range []struct {
		filter store.IntentFilter
		want   []string
	}{
		{store.IntentFilter{}, []string{"a of workspace w", "a of account acme", "b of account acme"}},
		{store.IntentFilter{Account: "acme"}, []string{"a of account acme", "b of account acme"}},
		{store.IntentFilter{Workspace: "w"}, []string{"a of workspace w"}},
		{store.IntentFilter{Name: "b"}, []string{"b of account acme"}},
		{store.IntentFilter{Account: "acme", Workspace: "w"}, nil},
	} {
		found, err := opened.Intents(t.Context(), tc.filter)
		require.NoError(t, err)
		var names []string
		for _, each := range found {
			names = append(names, each.String())
		}
		require.Equal(t, tc.want, names, "%+v", tc.filter)
	}
}

func TestAnIntentIsReplacedOnlyIfItIsTheOneThatWasRead(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	want := store.Intent{Workspace: "w", Name: "a", Kind: store.IntentDisabled}
	_, err := opened.PutIntentIf(ctx, want, 7)
	requireStale(t, err, 7, 0)
	first, err := opened.PutIntentIf(ctx, want, 0)
	require.NoError(t, err)
	_, err = opened.PutIntentIf(ctx, want, 0)
	requireStale(t, err, 0, first.Revision)
	want.Kind = store.IntentEnabled
	second, err := opened.PutIntentIf(ctx, want, first.Revision)
	require.NoError(t, err)
	require.Greater(t, second.Revision, first.Revision)
	_, err = opened.PutIntentIf(ctx, want, first.Revision)
	requireStale(t, err, first.Revision, second.Revision)
	found, err := opened.Intents(ctx, store.IntentFilter{})
	require.NoError(t, err)
	require.Equal(t, []store.Intent{second}, found)
}

func TestOfManyWhoChangeOneIntentOneDoes(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	first := putIntent(t, opened, store.Intent{Workspace: "w", Name: "a", Kind: store.IntentEnabled})
	stale := make([]bool, 8)
	var group errgroup.Group
	for i := range stale {
		group.Go(func() error {
			_, err := handles[i%2].PutIntentIf(t.Context(), store.Intent{Workspace: "w", Name: "a", Kind: store.IntentDisabled}, first.Revision)
			stale[i] = err != nil
			return nil
		})
	}
	require.NoError(t, group.Wait())
	winners := 0
	for _, each := range stale {
		if !each {
			winners++
		}
	}
	require.Equal(t, 1, winners)
}

func TestAnIntentIsForAnAccountOrAWorkspace(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for _, tc := range []struct {
		name, says string
		intent     store.Intent
	}{
		{"neither", "account or a workspace", store.Intent{Name: "a", Kind: store.IntentEnabled}},
		{"both", "account or a workspace", store.Intent{Account: "acme", Workspace: "w", Name: "a", Kind: store.IntentEnabled}},
		{"no name", "name", store.Intent{Workspace: "w", Kind: store.IntentEnabled}},
		{"no kind", "kind", store.Intent{Workspace: "w", Name: "a", Kind: "other"}},
	} {
		_, err := opened.PutIntent(t.Context(), tc.intent)
		require.ErrorContains(t, err, tc.says, tc.name)
	}
}

func requireStale(t *testing.T, err error, expected, found int64) {
	t.Helper()
	var stale *store.StaleIntentError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, expected, stale.Expected)
	require.Equal(t, found, stale.Found)
	require.ErrorContains(t, err, "a of workspace w")
}
