package executions

import (
	"context"
	"sync"
)

// flights lets calls of one name that overlap in this process share the one that is made.
type flights struct {
	mu      sync.Mutex
	running map[string]*flight
}

type flight struct {
	ended  chan struct{}
	report Report
	err    error
}

// join runs work in a goroutine of the wait group, unless a call of this name runs already, and waits for its end or the context's.
func (f *flights) join(ctx context.Context, name string, owner *sync.WaitGroup, work func(ctx context.Context) (Report, error)) (Report, error) {
	f.mu.Lock()
	mine, shared := f.running[name]
	if !shared {
		mine = &flight{ended: make(chan struct{})}
		f.running[name] = mine
		owner.Add(1)
		go func() {
			defer owner.Done()
			mine.report, mine.err = work(context.WithoutCancel(ctx))
			f.mu.Lock()
			delete(f.running, name)
			f.mu.Unlock()
			close(mine.ended)
		}()
	}
	f.mu.Unlock()
	select {
	case <-mine.ended:
		return mine.report, mine.err
	case <-ctx.Done():
		return Report{}, ctx.Err()
	}
}
