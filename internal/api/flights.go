package api

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// maxFlights bounds the operations under way in one process.
const maxFlights = 1024

// flight is one operation under way. It does not end with whoever asked for it: the same answer goes to all who wait, and to
// those who come back later.
type flight struct {
	done chan struct{}
	rep  *reply
	err  error

	names  []string // under which it can be joined
	kept   []keeper // the requests that its result is kept for
	stored map[string]result
}

// result is what a request was answered with.
type result struct {
	rep *reply
	err error
}

// wait waits for the result, or until the caller has had enough. A request that was noted has the result that was kept for it.
func (f *flight) wait(ctx context.Context, id string) (*reply, error) {
	select {
	case <-f.done:
		if own, kept := f.stored[id]; kept {
			return own.rep, own.err
		}
		return f.rep, f.err
	case <-ctx.Done(): // the gateway stops, or the caller has gone and hears nothing anyway
		return nil, fail(CodeStopping).because(ctx.Err())
	}
}

// over reports whether the result is there within a time.
func (f *flight) over(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-f.done:
		return true
	case <-timer.C:
		select {
		case <-f.done:
			return true
		default:
			return false
		}
	}
}

// flights makes sure that what is asked twice at the same time is done once.
type flights struct {
	api *API

	mu     sync.Mutex
	byName map[string]*flight
	count  int
}

func newFlights(a *API) *flights { return &flights{api: a, byName: map[string]*flight{}} }

// of is the flight of a request; nil where there is none.
func (f *flights) of(id string) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[requestName(id)]
}

func (f *flight) keepFor(k keeper) {
	if k.id != "" {
		f.kept = append(f.kept, k)
	}
}

// start joins the flight of the job's name, or begins one.
func (f *flights) start(j *job, updateID string, k keeper) (*flight, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if found := f.byName[j.flight]; found != nil && j.flight != "" {
		found.keepFor(k)
		f.name(found, requestName(k.id))
		return found, nil
	}
	switch {
	case f.api.stopped():
		return nil, fail(CodeStopping)
	case f.count >= maxFlights:
		return nil, fail(CodeBusy)
	}
	made := &flight{done: make(chan struct{}), stored: map[string]result{}}
	made.keepFor(k)
	f.name(made, j.flight)
	f.name(made, requestName(k.id))
	f.count++
	f.api.running.Go(func() { f.fly(made, j, updateID) })
	return made, nil
}

// name makes a flight known under a name. The caller has the lock.
func (f *flights) name(made *flight, name string) {
	if name != "" {
		made.names = append(made.names, name)
		f.byName[name] = made
	}
}

// requestName is the name under which the flight of a request can be joined.
func requestName(id string) string {
	if id == "" {
		return ""
	}
	return "request\x00" + id
}

func (f *flights) fly(made *flight, j *job, updateID string) {
	ctx, cancel := context.WithTimeout(f.api.base, operationDeadline-5*time.Second)
	defer cancel()
	lost := f.holdClaims(ctx, made, cancel)
	made.err = protect(func() (err error) {
		made.rep, err = j.run(ctx, updateID)
		return err
	})
	cancel()
	if <-lost && made.err != nil {
		made.err = failf(CodeBusy, "Another gateway has taken this request over: send it again.").because(made.err)
	}
	f.mu.Lock()
	for _, name := range made.names {
		delete(f.byName, name)
	}
	f.count--
	kept := made.kept
	f.mu.Unlock()
	for _, k := range kept {
		rep, err := f.api.keep(k, made.rep, made.err)
		made.stored[k.id] = result{rep, err}
	}
	close(made.done)
}

// holdClaims keeps the claims on a flight's requests until it ends, and ends it when others have taken all of them over. The
// channel tells at the end whether they have.
func (f *flights) holdClaims(ctx context.Context, made *flight, end context.CancelFunc) <-chan bool {
	lost := make(chan bool, 1)
	f.api.running.Go(func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				lost <- false
				return
			case <-tick.C:
			}
			f.mu.Lock()
			kept := slices.Clone(made.kept)
			f.mu.Unlock()
			if !f.api.renew(ctx, kept) && ctx.Err() == nil {
				end()
				lost <- true
				return
			}
		}
	})
	return lost
}

var errPanicked = errors.New("it panicked")

// protect turns a panic of a goroutine of ours into an error: it would end the process, with everybody else's requests.
func protect(do func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fail(CodeInternal).because(fmt.Errorf("%w at %s", errPanicked, debug.Stack()))
		}
	}()
	return do()
}

// Waiting counts the callers who wait for an operation.
func (a *API) Waiting() int { return int(a.waiting.Load()) }
