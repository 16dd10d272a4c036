package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const (
	// BlindWindow is how long after [EventStream.ConnectedAt] events may still be lost. Read the statuses again once
	// it has passed; nothing was lost from 50 ms on in any measurement.
	BlindWindow = 100 * time.Millisecond
	// Silence is how long a stream may send nothing before it counts as dead. The engine's heartbeat comes every 10 s.
	Silence = 25 * time.Second

	// subscribeTimeout is short because a booting engine accepts the request and never answers it.
	subscribeTimeout = 2 * time.Second

	eventsOp    = "read engine events"
	eventBuffer = 64
)

// The event types that concern connections.
const (
	EventInstanceDisposed = "server.instance.disposed"
	EventGlobalDisposed   = "global.disposed"
	EventToolsChanged     = "mcp.tools.changed"

	eventConnected = "server.connected"
	eventHeartbeat = "server.heartbeat"
)

// ErrStreamEnded is in the chain of the error that [EventStream.Next] gives when the engine ended the stream: it was
// stopped or killed.
var ErrStreamEnded = errors.New("the engine ended the event stream")

var errNotStream = errors.New("it is not a text/event-stream")

// Event is something that happened in the engine. Directory is empty for events of no instance, and "global" for
// some that concern all.
type Event struct {
	Type       string
	Directory  string
	Properties json.RawMessage
}

// EventStream reads GET /global/event. One goroutine, which [EventStream.Close] ends, takes events off the
// connection, drops those of other kinds than server.*, global.* and mcp.*, and keeps up to 64 for [EventStream.Next].
type EventStream struct {
	// ConnectedAt is when the stream's server.connected was seen.
	ConnectedAt time.Time

	stream *httpclient.Stream
	cancel context.CancelFunc
	events chan Event
	done   chan struct{}

	end     error // written before done is closed
	skipped atomic.Int64
}

// Events subscribes to the events of all directories, and returns when the engine has said server.connected: within
// 2 s (the client's timeout if that is less) for the headers and as much again for the event. It tries once. The
// stream lives until ctx ends or it is closed. See [BlindWindow] for what must follow.
func (c *Client) Events(ctx context.Context) (*EventStream, error) {
	return c.events(ctx, Silence)
}

func (c *Client) events(ctx context.Context, silence time.Duration) (*EventStream, error) {
	limit := min(c.timeout, subscribeTimeout)
	req := c.read(eventsOp, "", "global", "event")
	req.Header = req.Header.Clone()
	req.Header.Set("Accept", "text/event-stream")
	req.Timeout = limit

	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.http.Open(ctx, req, silence)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &EventStream{
		stream: stream,
		cancel: cancel,
		events: make(chan Event, eventBuffer),
		done:   make(chan struct{}),
	}
	go s.pump(ctx)
	if err := s.awaitConnected(ctx, limit); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// awaitConnected makes the engine's greeting a condition: a server that streams something else is not an engine.
func (s *EventStream) awaitConnected(ctx context.Context, timeout time.Duration) error {
	if !strings.HasPrefix(s.stream.Header.Get("Content-Type"), "text/event-stream") {
		return httpclient.Malformed(eventsOp, http.StatusOK, errNotStream)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		event, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if event.Type == eventConnected {
			s.ConnectedAt = time.Now()
			return nil
		}
	}
}

// Next returns the next event that may concern a connection. When ctx ends first, its error comes back and the stream
// goes on. Any other error is final and repeated: the stream ended ([ErrStreamEnded]), broke, was closed, or
// was silent for [Silence] ([httpclient.ErrSilent]). Events that came before the end are returned first.
func (s *EventStream) Next(ctx context.Context) (Event, error) {
	select {
	case event := <-s.events:
		return event, nil
	default:
	}
	select {
	case event := <-s.events:
		return event, nil
	case <-ctx.Done():
		return Event{}, waitError(ctx.Err())
	case <-s.done:
	}
	select {
	case event := <-s.events:
		return event, nil
	default:
		return Event{}, s.end
	}
}

// Skipped is how many events could not be read so far: over 1 MiB, or not JSON where news was expected.
func (s *EventStream) Skipped() int64 { return s.skipped.Load() }

// Close ends the stream and waits until its goroutine is gone. It may be called more than once.
func (s *EventStream) Close() {
	s.cancel()
	s.stream.Close()
	<-s.done
}

func (s *EventStream) pump(ctx context.Context) {
	defer close(s.done)
	defer s.stream.Close()
	reader := newSSEReader(s.stream)
	for {
		data, err := reader.next()
		if err != nil {
			s.end = endError(err)
			return
		}
		event, ok := s.sift(data)
		s.skipped.Add(reader.takeSkipped())
		if !ok {
			continue
		}
		select {
		case s.events <- event:
		case <-ctx.Done():
			s.end = waitError(ctx.Err())
			return
		}
	}
}

// sift returns the event in data when it is one that is passed on.
func (s *EventStream) sift(data []byte) (Event, bool) {
	if !mayConcern(data) {
		return Event{}, false
	}
	event, err := decodeEvent(data)
	if err != nil {
		s.skipped.Add(1)
		return Event{}, false
	}
	return event, concerns(event.Type)
}

func endError(err error) error {
	var own *httpclient.Error
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, errEndlessLine):
		return &httpclient.Error{Op: eventsOp, Kind: httpclient.KindTooLarge, Status: http.StatusOK, Cause: err}
	default:
		return &httpclient.Error{
			Op: eventsOp, Kind: httpclient.KindUnreachable, Status: http.StatusOK, Cause: fmt.Errorf("%w: %w", ErrStreamEnded, io.EOF),
		}
	}
}

func waitError(err error) error {
	kind := httpclient.KindTimeout
	if errors.Is(err, context.Canceled) {
		kind = httpclient.KindCanceled
	}
	return &httpclient.Error{Op: eventsOp, Kind: kind, Status: http.StatusOK, Cause: err}
}
