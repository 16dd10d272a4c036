//go:build unix

package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

const lockPause = 100 * time.Millisecond

// errLocked says that another process holds the lock.
var errLocked = errors.New("another process holds the lock")

// lockFile takes an exclusive lock on path, waiting until ctx ends. The kernel gives it back when the process dies.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := tryLockFile(path)
		if !errors.Is(err, errLocked) {
			return unlock, err
		}
		if !sleep(ctx, lockPause) {
			return nil, ctx.Err()
		}
	}
}

// tryLockFile takes the lock or fails at once with errLocked.
func tryLockFile(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a path of ours
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock file: %w", err)
	}
	return func() { _ = file.Close() }, nil
}
