package filelock_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/filelock"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	var holders, most atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			lock, err := filelock.Acquire(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			most.Store(max(most.Load(), holders.Add(1)))
			holders.Add(-1)
			if err := lock.Release(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), most.Load())
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.lock")
	held, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = filelock.Acquire(ctx, path)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "another process holds it")

	require.NoError(t, held.Release())
	again, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, again.Release())
}

func TestAFolderThatIsNotThereIsNamed(t *testing.T) {
	t.Parallel()
	_, err := filelock.Acquire(t.Context(), filepath.Join(t.TempDir(), "absent", "x.lock"))
	require.ErrorContains(t, err, "absent")
}
