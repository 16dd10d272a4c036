package executions

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	watchEvery = 100 * time.Millisecond
	// The first looks come sooner: most executions ask within moments of their start.
	watchSoon  = 25 * time.Millisecond
	soonLooks  = 4
	watchStale = 5 * time.Second // without a successful look, waiters are told that the store is gone
)

// steps is what the events of an execution say.
type steps struct {
	seq     int64
	open    map[int]bool
	settled map[int]bool // what followed from the pause is known
	outcome bool
}

func (s steps) fold(events []store.ExecutionEvent) steps {
	out := steps{seq: s.seq, open: map[int]bool{}, settled: map[int]bool{}, outcome: s.outcome}
	maps.Copy(out.open, s.open)
	maps.Copy(out.settled, s.settled)
	for _, event := range events {
		out.seq = max(out.seq, event.Seq)
		switch event.Kind {
		case store.EventPaused:
			out.open[event.Pause] = true
		case store.EventDecided:
			delete(out.open, event.Pause)
		case store.EventSettled:
			out.settled[event.Pause] = true
		case store.EventOutcome:
			out.outcome = true
		}
	}
	return out
}

// first is the pause to put to a caller: the oldest that waits and is not the one that it knows. 0: none.
func (s steps) first(known int) int {
	for _, n := range slices.Sorted(maps.Keys(s.open)) {
		if n != known {
			return n
		}
	}
	return 0
}

// watches follows executions in the store: one poller each, however many wait for it, and none when nobody does.
type watches struct {
	store Store
	mu    sync.Mutex
	byKey map[string]*watch
	done  sync.WaitGroup
	over  bool
}

func newWatches(s Store) *watches { return &watches{store: s, byKey: map[string]*watch{}} }

// watch is one execution that is followed.
type watch struct {
	waiters int // under the lock of watches
	cancel  context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed with each change
	seen    steps
	looked  bool
	err     error
}

// follow gives the watch of an execution; release it.
func (w *watches) follow(ctx context.Context, key string) (*watch, func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := w.byKey[key]
	if found == nil {
		polling, cancel := context.WithCancel(context.WithoutCancel(ctx))
		found = &watch{cancel: cancel, changed: make(chan struct{})}
		w.byKey[key] = found
		if w.over {
			cancel()
		}
		w.done.Add(1)
		go func() {
			defer w.done.Done()
			found.poll(polling, w.store, key)
		}()
	}
	found.waiters++
	return found, sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if found.waiters--; found.waiters == 0 {
			found.cancel()
			delete(w.byKey, key)
		}
	})
}

func (w *watches) close() {
	w.mu.Lock()
	w.over = true
	for _, each := range w.byKey {
		each.cancel()
	}
	w.mu.Unlock()
	w.done.Wait()
}

func (w *watch) poll(ctx context.Context, s Store, key string) {
	good := time.Now()
	for look := 0; ctx.Err() == nil; look++ {
		events, err := w.look(ctx, s, key)
		switch {
		case err == nil:
			good = time.Now()
			w.tell(events, nil)
		case time.Since(good) > watchStale:
			w.tell(nil, err)
		}
		if _, _, _, over := w.current(); over {
			return
		}
		pause := watchEvery
		if look < soonLooks {
			pause = watchSoon
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	w.tell(nil, context.Cause(ctx))
}

func (w *watch) look(ctx context.Context, s Store, key string) ([]store.ExecutionEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	seen, _, _, _ := w.current()
	return s.ExecutionEvents(ctx, key, seen.seq)
}

func (w *watch) tell(events []store.ExecutionEvent, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && len(events) == 0 && w.looked && w.err == nil {
		return
	}
	if w.err = err; err == nil {
		w.looked = true
		w.seen = w.seen.fold(events)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// current is what was seen, and a channel that is closed when that changes. over says that nothing will.
func (w *watch) current() (seen steps, looked bool, changed <-chan struct{}, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.looked, w.changed, w.seen.outcome
}

func (w *watch) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// await waits until an execution has ended or asks something other than the pause known (0: none), or the hold is over or the context
// ends: then the answer is what was seen last. An error means that the store cannot be read.
func (s *Service) await(ctx context.Context, key string, known int, hold hold) (steps, error) {
	watch, release := s.watches.follow(ctx, key)
	defer release()
	over := time.NewTimer(max(0, hold.span))
	defer over.Stop()
	deadline := over.C
	for {
		seen, looked, changed, _ := watch.current()
		if err := watch.failed(); err != nil {
			return seen, &UnavailableError{What: "store", Err: err}
		}
		if looked && (seen.outcome || seen.first(known) != 0 || deadline == nil) {
			return seen, nil
		}
		select {
		case <-changed:
		case <-deadline:
			if deadline = nil; hold.span > 0 {
				return seen, nil
			}
		case <-hold.release:
			return seen, nil
		case <-ctx.Done():
			return seen, nil
		}
	}
}
