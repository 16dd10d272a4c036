package store_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// lockWrites keeps everybody else from writing until it is given back.
func lockWrites(t *testing.T, dir string) (giveBack func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dbPath(dir)+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	require.NoError(t, err)
	return func() { _ = tx.Rollback() }
}

func TestAWriteIsGivenUpWithItsContextAndNotWrittenLater(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	giveBack := lockWrites(t, dir)
	began := time.Now()
	for _, write := range []func(ctx context.Context) error{
		func(ctx context.Context) error {
			_, err := opened.PutIntent(ctx, store.Intent{Workspace: "w", Name: "n", Kind: store.IntentEnabled})
			return err
		},
		func(ctx context.Context) error { _, err := opened.PruneRequests(ctx, monday); return err },
		func(ctx context.Context) error { return opened.PutProbe(ctx, key("a"), store.ProbeState{Misses: 1}) },
		opened.Writable,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		require.Error(t, write(ctx))
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		cancel()
	}
	require.Less(t, time.Since(began), 4*time.Second)
	giveBack()
	require.NoError(t, opened.Writable(t.Context()))
	intents, err := opened.Intents(t.Context(), store.IntentFilter{})
	require.NoError(t, err)
	require.Empty(t, intents)
}

func TestAWriteWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	giveBack := lockWrites(t, dir)
	written := make(chan error, 1)
	go func() {
		_, err := opened.PutIntent(t.Context(), store.Intent{Workspace: "w", Name: "n", Kind: store.IntentEnabled})
		written <- err
	}()
	select {
	case err := <-written:
		require.NoError(t, err, "it was written through a lock")
		require.Fail(t, "it was written through a lock")
	case <-time.After(300 * time.Millisecond):
	}
	giveBack()
	require.NoError(t, <-written)
}

func TestAfterAFullDiskAWriteIsTriedForReal(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	require.NoError(t, opened.Writable(ctx))
	require.NoError(t, opened.LimitPages(ctx, 1))
	large := request("r")
	large.Digest = make([]byte, 1<<20)
	_, _, err := opened.BeginRequest(ctx, large)
	require.ErrorContains(t, err, "full")
	require.NoError(t, opened.LimitPages(ctx, 1<<20))
	require.NoError(t, opened.Writable(ctx), "it has tried to write")
	_, _, err = opened.BeginRequest(ctx, large)
	require.NoError(t, err)
}
