package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	maxAlone    = 64  // sessions of one source for calls that may not be made again, at once
	maxAsk      = 128 // and for calls that may ask
	maxChildren = 8   // processes of one source for calls that may ask
	maxIdle     = 16  // sessions of a kind that wait for another call
	idleLimit   = 5 * time.Minute
)

var errClosed = errors.New("the catalog is closed")

// pool keeps the sessions of one source.
type pool struct {
	dialer *dialer
	alone  chan struct{}
	ask    chan struct{}

	shared  atomic.Pointer[session]
	sharing singleflight.Group

	closed atomic.Bool

	mu   sync.Mutex
	idle map[lane][]*session

	ending sync.Mutex     // so that nobody joins the users once they are waited for
	users  sync.WaitGroup // goroutines that end sessions, or open the shared one
}

func newPool(d *dialer) *pool {
	p := &pool{dialer: d, alone: make(chan struct{}, maxAlone), ask: make(chan struct{}, maxAsk), idle: map[lane][]*session{}}
	if d.source.local() {
		p.ask = make(chan struct{}, maxChildren)
	}
	return p
}

// laneFor says by which session a call goes. Child processes are shared unless the tool may ask: another process is another program.
func (p *pool) laneFor(repeatable, asks bool) lane {
	switch {
	case asks:
		return laneAsk
	case repeatable, p.dialer.source.local():
		return laneShared
	default:
		return laneAlone
	}
}

// get gives a session to make one call with; it is given back with put. Lost is one that the source has forgotten, or that broke: then
// a new one is opened. nil: none is known to be.
func (p *pool) get(ctx context.Context, lane lane, lost *session) (*session, error) {
	if p.closed.Load() {
		return nil, errClosed
	}
	if lane == laneShared {
		return p.getShared(ctx, lost)
	}
	slots := p.slots(lane)
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if kept := p.takeIdle(lane); kept != nil {
		if lost == nil {
			return kept, nil
		}
		p.end(kept)
	}
	s, err := p.dialer.dial(ctx, lane)
	if err != nil {
		<-slots
		return nil, err
	}
	return s, nil
}

func (p *pool) getShared(ctx context.Context, lost *session) (*session, error) {
	if s := p.shared.Load(); s != nil && s != lost && s.alive() {
		s.inFlight.Add(1)
		return s, nil
	}
	opened := p.sharing.DoChan("", func() (any, error) {
		if s := p.shared.Load(); s != nil {
			if s != lost && s.alive() {
				return s, nil
			}
			p.end(s)
		}
		return p.openShared(context.WithoutCancel(ctx)) // others wait for it, too
	})
	select {
	case result := <-opened:
		if result.Err != nil {
			return nil, result.Err
		}
		s := result.Val.(*session) // the function above gives nothing else
		s.inFlight.Add(1)
		return s, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openShared opens the shared session, unless the pool is closed, which waits for it.
func (p *pool) openShared(ctx context.Context) (*session, error) {
	p.ending.Lock()
	closed := p.closed.Load()
	if !closed {
		p.users.Add(1)
	}
	p.ending.Unlock()
	if closed {
		return nil, errClosed
	}
	defer p.users.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.dialer.life(), cancel)
	defer stop()
	s, err := p.dialer.dial(ctx, laneShared)
	if err != nil {
		return nil, err
	}
	p.shared.Store(s)
	return s, nil
}

// put gives a session back after a call. One that is not healthy is ended.
func (p *pool) put(s *session, healthy bool) {
	s.touch()
	s.uses.Add(1)
	if s.lane == laneShared {
		s.inFlight.Add(-1)
		if !healthy {
			p.shared.CompareAndSwap(s, nil)
			p.end(s)
		}
		return
	}
	defer func() { <-p.slots(s.lane) }()
	if healthy && s.alive() && p.keep(s) {
		return
	}
	p.end(s)
}

func (p *pool) slots(lane lane) chan struct{} {
	if lane == laneAsk {
		return p.ask
	}
	return p.alone
}

func (p *pool) takeIdle(lane lane) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.idle[lane]
	for len(kept) > 0 {
		s := kept[len(kept)-1]
		kept = kept[:len(kept)-1]
		p.idle[lane] = kept
		if s.alive() {
			return s
		}
	}
	return nil
}

func (p *pool) keep(s *session) bool {
	limit := maxIdle
	if p.dialer.source.local() {
		limit = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() || len(p.idle[s.lane]) >= limit {
		return false
	}
	p.idle[s.lane] = append(p.idle[s.lane], s)
	return true
}

// end ends a session, without waiting for the source unless the pool itself is being closed.
func (p *pool) end(s *session) {
	p.ending.Lock()
	closed := p.closed.Load()
	if !closed {
		p.users.Go(s.close)
	}
	p.ending.Unlock()
	if closed {
		s.close()
	}
}

// rest ends what nobody has used for a while.
func (p *pool) rest(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for lane, kept := range p.idle {
		var still []*session
		for _, s := range kept {
			if now.Sub(s.idleSince()) < idleLimit {
				still = append(still, s)
			} else {
				p.end(s)
			}
		}
		p.idle[lane] = still
	}
	if s := p.shared.Load(); s != nil && s.inFlight.Load() == 0 && now.Sub(s.idleSince()) >= idleLimit && p.shared.CompareAndSwap(s, nil) {
		p.end(s)
	}
}

// close ends every session that is not in use, and waits for that. What is in use ends when it is put back.
func (p *pool) close() {
	p.mu.Lock()
	for _, kept := range p.idle {
		for _, s := range kept {
			p.end(s)
		}
	}
	p.idle = map[lane][]*session{}
	p.mu.Unlock()
	if s := p.shared.Swap(nil); s != nil {
		p.end(s)
	}
	p.ending.Lock()
	p.closed.Store(true)
	p.ending.Unlock()
	p.users.Wait()
	if s := p.shared.Swap(nil); s != nil { // opened meanwhile
		s.close()
	}
}
