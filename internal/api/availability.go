package api

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Together these keep an answer within 2 s of the moment in which Temporal or the store is gone: at worst a look has just
// succeeded, the next one hangs, and the caller is told.
const (
	checkEvery   = 400 * time.Millisecond
	checkTimeout = 1200 * time.Millisecond
	// storeTimeout bounds one call of a store that answers others: it may stand in a queue, or behind another process's write.
	storeTimeout = 1500 * time.Millisecond
	// storeGrace is how long a call that was given up has to end: what is answered with an error is not written afterwards.
	storeGrace = 300 * time.Millisecond
)

// monitor knows whether something outside answers. Looks are shared by all who want to know.
type monitor struct {
	check func(context.Context) error
	now   func() time.Time

	mu      sync.Mutex
	at      time.Time
	err     error
	looking chan struct{} // closed when the look under way is over; nil: none
}

func newMonitor(check func(context.Context) error, now func() time.Time) *monitor {
	return &monitor{check: check, now: now}
}

// look tells what the last look said, and looks where that was too long ago.
func (m *monitor) look(ctx context.Context) error {
	m.mu.Lock()
	if !m.at.IsZero() && m.now().Sub(m.at) < checkEvery {
		defer m.mu.Unlock()
		return m.err
	}
	if other := m.looking; other != nil {
		m.mu.Unlock()
		select {
		case <-other:
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	mine := make(chan struct{})
	m.looking = mine
	m.mu.Unlock()

	// Others wait for this look too: it does not end with whoever asked first.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTimeout)
	err := m.check(limited)
	cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.err, m.looking = m.now(), err, nil
	close(mine)
	return err
}

// errGone is why a call was given up: what it waits for does not answer any more.
var errGone = errors.New("it stopped answering")

// during runs a call and gives it up when what it needs stops answering.
func (m *monitor) during(ctx context.Context, call func(context.Context)) (gone bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	done := make(chan struct{})
	defer func() { // also when the call panics
		close(done)
		watching.Wait()
		gone = errors.Is(context.Cause(ctx), errGone)
		cancel(nil)
	}()
	watching.Go(func() {
		ticker := time.NewTicker(checkEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if err := m.look(ctx); err != nil && ctx.Err() == nil {
				cancel(errGone)
				return
			}
		}
	})
	call(ctx)
	return false
}
