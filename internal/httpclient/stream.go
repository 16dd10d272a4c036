package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// ErrSilent is the cause of the [KindTimeout] error of a stream on which no byte came for too long.
var ErrSilent = errors.New("nothing was received for too long")

var (
	errLateHeaders = errors.New("no headers in time")
	errClosed      = errors.New("the stream was closed")
)

// Stream is the body of an answer that goes on, on a connection of its own.
type Stream struct {
	Header http.Header

	op     string
	status int
	idle   time.Duration
	body   io.ReadCloser
	cancel context.CancelCauseFunc
	cause  func() error

	watchdog *time.Timer
	closing  sync.Once
}

// Open sends r on a new connection and returns once the headers are in, for which r.Timeout (or the client's) is the
// limit. From then on only silence is limited: idle is how long one Read may wait for a byte; it must be above 0.
// The stream ends with ctx. Every error is an [*Error].
func (c *Client) Open(ctx context.Context, r Request, idle time.Duration) (*Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(c.timeoutOf(r), func() { cancel(errLateHeaders) })

	req, err := newRequest(ctx, r)
	if err != nil {
		late.Stop()
		cancel(err)
		return nil, err
	}
	resp, err := c.fresh.Do(req) //nolint:bodyclose // the stream owns the body and closes it
	late.Stop()
	if err != nil {
		defer cancel(errClosed)
		return nil, streamFault(context.Cause(ctx), r.Op, 0, err)
	}
	s := &Stream{
		Header: resp.Header,
		op:     r.Op,
		status: resp.StatusCode,
		idle:   idle,
		body:   resp.Body,
		cancel: cancel,
		cause:  func() error { return context.Cause(ctx) },
	}
	s.watchdog = time.AfterFunc(idle, func() { cancel(ErrSilent) })
	s.watchdog.Stop()
	if !successful(resp.StatusCode) {
		s.Close()
		return nil, &Error{Op: r.Op, Kind: KindStatus, Status: resp.StatusCode}
	}
	return s, nil
}

// Read reads from the body. The end of the stream is [io.EOF]; any other error is an [*Error]. The clock of silence
// runs only inside Read, so that a slow reader is not taken for a silent server.
func (s *Stream) Read(p []byte) (int, error) {
	s.watchdog.Reset(s.idle)
	n, err := s.body.Read(p)
	s.watchdog.Stop()
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF) && s.cause() == nil:
		return n, io.EOF
	default:
		return n, streamFault(s.cause(), s.op, s.status, err)
	}
}

// Close ends the stream and makes a Read under way return. It may be called more than once and from any goroutine.
func (s *Stream) Close() {
	s.closing.Do(func() {
		s.cancel(errClosed)
		s.watchdog.Stop()
		_ = s.body.Close()
	})
}

func streamFault(cause error, op string, status int, err error) *Error {
	e := &Error{Op: op, Kind: KindUnreachable, Status: status, Cause: safeCause(err)}
	switch {
	case cause == nil:
	case errors.Is(cause, errLateHeaders), errors.Is(cause, ErrSilent), errors.Is(cause, context.DeadlineExceeded):
		e.Kind, e.Cause = KindTimeout, cause
	default:
		e.Kind, e.Cause = KindCanceled, context.Canceled
	}
	return e
}
