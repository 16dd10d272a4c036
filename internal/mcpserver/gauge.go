package mcpserver

import (
	"sync"
	"time"
)

// gauge counts what goes on, and tells when nothing does.
type gauge struct {
	mu    sync.Mutex
	count int
	idle  []chan struct{}
}

func (g *gauge) add() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count++
}

func (g *gauge) done() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count--
	if g.count > 0 {
		return
	}
	for _, waiting := range g.idle {
		close(waiting)
	}
	g.idle = nil
}

// zero is closed when nothing goes on.
func (g *gauge) zero() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(chan struct{})
	if g.count == 0 {
		close(c)
		return c
	}
	g.idle = append(g.idle, c)
	return c
}

// behind is what goes on beside requests. When it is waited for, nothing new begins.
type behind struct {
	mu     sync.Mutex
	closed bool
	group  sync.WaitGroup
}

func (b *behind) run(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.group.Go(f)
	}
}

// wait reports whether all has ended in time.
func (b *behind) wait(limit time.Duration) bool {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		b.group.Wait()
		close(ended)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}
