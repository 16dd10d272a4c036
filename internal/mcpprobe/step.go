package mcpprobe

import (
	"context"
	"sync"
	"time"
)

type stepKey struct{}

// deadlineError is a request that was not complete in time.
type deadlineError struct{ after time.Duration }

func (e *deadlineError) Error() string { return "no complete answer within " + e.after.String() }

// Is makes it a deadline for [errors.Is], without a second link in a cause chain.
func (e *deadlineError) Is(target error) bool { return target == context.DeadlineExceeded }

// step watches one request from both ends: the caller begins and ends it, the wire notes what it saw. It travels in
// the request's context, so that the SDK in between need not know of it.
type step struct {
	name    string
	started time.Time
	stop    context.CancelCauseFunc
	release context.CancelFunc
	further bool // a further page of the list that the step before asked for

	mu        sync.Mutex
	sent      bool
	over      bool
	status    int
	requestID string
	lost      bool
	fault     error
	err       error
	latency   time.Duration
}

// begin starts a step whose context ends with the request's deadline.
func begin(ctx context.Context, name string, timeout time.Duration) (context.Context, *step) {
	timed, release := context.WithTimeoutCause(ctx, timeout, &deadlineError{after: timeout})
	stoppable, stop := context.WithCancelCause(timed)
	s := &step{name: name, started: time.Now(), stop: stop, release: release}
	return context.WithValue(stoppable, stepKey{}, s), s
}

// stepFrom returns the step that a request belongs to, or nil.
func stepFrom(ctx context.Context) *step {
	s, _ := ctx.Value(stepKey{}).(*step)
	return s
}

// end closes the step: what the wire sees later (a drain, a late cancel notice) is not the step's any more.
func (s *step) end(ctx context.Context, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency = time.Since(s.started)
	s.over = true
	s.err = err
	switch cause := context.Cause(ctx); {
	case err == nil:
		s.fault = nil
	case cause != nil:
		s.fault = cause
	}
	s.stop(context.Canceled)
	s.release()
}

// admit tells whether the wire may send a request for this step: one, and the hops of its redirects and resumptions.
func (s *step) admit(again bool) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || (s.sent && !again) {
		return false
	}
	s.sent = true
	return true
}

// answered notes an answer's status and id.
func (s *step) answered(status int, requestID string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.status, s.requestID = status, requestID
}

// sessionLost notes that the endpoint said that it does not know the session.
func (s *step) sessionLost() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = s.lost || !s.over
}

// fail notes that no usable answer will come, and ends the wait for one: the SDK would otherwise try to resume.
func (s *step) fail(err error) {
	if s == nil || err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.fault != nil {
		return
	}
	s.fault = err
	s.stop(err)
}

func (s *step) good() bool { return s.err == nil && s.fault == nil && statusOK(s.status) }

func statusOK(status int) bool { return status >= 200 && status < 300 }
