package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func request(id string) store.Request {
	return store.Request{
		ID: id, Principal: "p", Key: "k", Kind: "reconcile", Connection: key("a"), Digest: []byte{1, 2}, CreatedAt: monday,
	}
}

func TestARequestIsNotedOnceAndKeepsItsFirstResult(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	_, err := opened.Request(ctx, "r1")
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = opened.FinishRequest(ctx, "r1", store.Outcome{Status: 200, At: monday})
	require.ErrorIs(t, err, store.ErrNotFound)

	want := request("r1")
	want.StartedAt = monday
	got, fresh, err := opened.BeginRequest(ctx, want)
	require.NoError(t, err)
	require.True(t, fresh)
	require.Equal(t, want, got)

	other := again(t, dir)
	got, fresh, err = other.BeginRequest(ctx, request("r2"))
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, want, got, "the one that was noted first, not finished")

	_, err = opened.FinishRequest(ctx, "r1", store.Outcome{Status: 202, Result: []byte("result"), At: monday.Add(time.Second)})
	require.NoError(t, err)
	kept, err := other.FinishRequest(ctx, "r1", store.Outcome{Status: 500, Result: []byte("other"), At: monday.Add(time.Minute)})
	require.NoError(t, err)
	require.Equal(t, []byte("result"), kept.Result, "the first one is given back")
	want.Status, want.Result, want.FinishedAt = 202, []byte("result"), monday.Add(time.Second)
	got, fresh, err = other.BeginRequest(ctx, request("r3"))
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, want, got)
	got, err = other.Request(ctx, "r1")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestRequestsAreToldApart(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for i, change := range []func(r *store.Request){
		func(*store.Request) {},
		func(r *store.Request) { r.Principal = "q" },
		func(r *store.Request) { r.Key = "l" },
		func(r *store.Request) { r.Key = "" },
		func(r *store.Request) { r.Key = "" },
	} {
		each := request(fmt.Sprintf("r%d", i))
		change(&each)
		_, fresh, err := opened.BeginRequest(t.Context(), each)
		require.NoError(t, err)
		require.True(t, fresh, each.ID)
	}
	same := request("r0")
	same.Key = "other"
	_, _, err := opened.BeginRequest(t.Context(), same)
	require.Error(t, err, "an id is used once")
	_, _, err = opened.BeginRequest(t.Context(), store.Request{ID: "r"})
	require.ErrorContains(t, err, "principal")
}

func TestOfManyWhoSendOneKeyOneIsFresh(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	const senders = 12
	got := make([]store.Request, senders)
	fresh := make([]bool, senders)
	var group errgroup.Group
	for i := range senders {
		group.Go(func() (err error) {
			got[i], fresh[i], err = handles[i%2].BeginRequest(t.Context(), request(fmt.Sprintf("r%d", i)))
			return err
		})
	}
	require.NoError(t, group.Wait())
	winners := 0
	for i := range senders {
		require.Equal(t, got[0].ID, got[i].ID, "all see the same request")
		if fresh[i] {
			winners++
		}
	}
	require.Equal(t, 1, winners)
}

func TestOldRequestsArePruned(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	for i := range 3 {
		each := request(fmt.Sprintf("r%d", i))
		each.Key, each.CreatedAt = "", monday.Add(time.Duration(i)*time.Hour)
		_, _, err := opened.BeginRequest(t.Context(), each)
		require.NoError(t, err)
	}
	pruned, err := opened.PruneRequests(t.Context(), monday.Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, int64(2), pruned)
	_, err = opened.Request(t.Context(), "r2")
	require.NoError(t, err)
	_, err = opened.Request(t.Context(), "r1")
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAResultIsGivenOnlyToWhoAsked(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	_, _, err := opened.BeginRequest(t.Context(), request("r"))
	require.NoError(t, err)
	_, err = opened.FinishRequest(t.Context(), "r", store.Outcome{Status: 200, At: monday})
	require.NoError(t, err)
	got, err := opened.Request(t.Context(), "r")
	require.NoError(t, err, "a result may be empty")
	require.Empty(t, got.Result)
	tamper(t, dir, `UPDATE api_request SET principal = 'evil'`)
	_, err = opened.Request(t.Context(), "r")
	requireCorrupt(t, err, "api_request", "result", `"r"`)
}
