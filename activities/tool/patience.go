package tool

import (
	"context"
	"sync"
	"time"
)

// patience is a deadline whose clock stands still while a person is asked.
type patience struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time // when the clock was started last
	holding int
	over    bool
}

// newPatience starts the clock of a context, which ends with [context.DeadlineExceeded] as its cause. The release ends it at once, and is
// to be called.
func newPatience(parent context.Context, left time.Duration) (ctx context.Context, p *patience, release context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	p = &patience{left: left, since: time.Now()}
	p.timer = time.AfterFunc(left, func() { cancel(context.DeadlineExceeded) })
	return ctx, p, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.over = true
		p.timer.Stop()
		cancel(context.Canceled)
	}
}

// hold stops the clock until goOn is called as often.
func (p *patience) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding++
	if p.holding == 1 && p.timer.Stop() {
		p.left -= time.Since(p.since)
	}
}

func (p *patience) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding--
	if p.holding == 0 && !p.over {
		p.since = time.Now()
		p.timer.Reset(max(p.left, 0))
	}
}
