package api

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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

	names []string // under which it can be joined
	kept  []keeper // the requests that its result is kept for
}

// keeper is a request that wants to find the result later.
type keeper struct {
	id string
	// once holds for a request without a key: nobody can repeat it, so whatever comes out is its result.
	once bool
}

// wait waits for the result, or until the caller has had enough.
func (f *flight) wait(ctx context.Context) (*reply, error) {
	select {
	case <-f.done:
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
		return found, nil
	}
	switch {
	case f.api.stopped():
		return nil, fail(CodeStopping)
	case f.count >= maxFlights:
		return nil, fail(CodeBusy)
	}
	made := &flight{done: make(chan struct{})}
	made.keepFor(k)
	for _, name := range []string{j.flight, requestName(k.id)} {
		if name != "" {
			made.names = append(made.names, name)
			f.byName[name] = made
		}
	}
	f.count++
	f.api.running.Go(func() { f.fly(made, j, updateID) })
	return made, nil
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
	made.err = protect(func() (err error) {
		made.rep, err = j.run(ctx, updateID)
		return err
	})
	f.mu.Lock()
	for _, name := range made.names {
		delete(f.byName, name)
	}
	f.count--
	kept := made.kept
	f.mu.Unlock()
	for _, k := range kept {
		f.api.keep(k, made.rep, made.err)
	}
	close(made.done)
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
