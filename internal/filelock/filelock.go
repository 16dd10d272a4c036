package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// retryEvery is how often a held lock is tried again. flock has no wait with a deadline, so waiting is polling.
const retryEvery = 5 * time.Millisecond

// Lock is a held lock. It must be released exactly once.
type Lock struct {
	file *os.File
}

// Acquire creates path with mode 0600 when it is absent and locks it, waiting until ctx is done. The lock file stays in place
// after Release: removing it would let two holders lock two different files of the same name.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := wait(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return &Lock{file: file}, nil
}

// Release gives the lock up.
func (l *Lock) Release() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release lock %s: %w", l.file.Name(), err)
	}
	return nil
}

func wait(ctx context.Context, file *os.File) error {
	ticker := time.NewTicker(retryEvery)
	defer ticker.Stop()
	for {
		held, err := try(file)
		if err != nil || held {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process holds it: %w", ctx.Err())
		case <-ticker.C:
		}
	}
}

func try(file *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
