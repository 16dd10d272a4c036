package catalog

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lingerLimit is how long a connection may take to be done with an answer whose end is known.
const lingerLimit = 2 * time.Second

// errBudget is the cause of a context whose time to work is used up.
var errBudget = errors.New("the tool took longer than its source's timeout")

// budget bounds the time that a tool works. While a person is asked the clock stands still.
type budget struct {
	cancel context.CancelCauseFunc
	leave  func() bool // the parent no longer ends it

	mu     sync.Mutex
	left   time.Duration
	since  time.Time
	timer  *time.Timer
	paused int
}

// newBudget starts the clock. The caller ends it with stop.
func newBudget(parent context.Context, limit time.Duration) (context.Context, *budget) {
	// Not a child of the parent: the end of a call, with which its caller's context ends too, must not cut the connection by which the
	// answer has just come, since the next call uses it.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	b := &budget{cancel: cancel, left: limit, since: time.Now()}
	b.timer = time.AfterFunc(limit, func() { cancel(errBudget) })
	b.leave = context.AfterFunc(parent, func() { cancel(context.Cause(parent)) })
	return ctx, b
}

// stop ends the call. What is left of its answer may still be read for a while.
func (b *budget) stop() {
	b.leave()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Reset(lingerLimit)
}

// abandon ends the call at once.
func (b *budget) abandon() { b.cancel(errClosed) }

func (b *budget) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused++; b.paused > 1 || !b.timer.Stop() {
		return
	}
	b.left -= time.Since(b.since)
}

func (b *budget) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused--; b.paused > 0 {
		return
	}
	b.since = time.Now()
	b.timer.Reset(max(b.left, 0))
}
