package mcpserver

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// standingStream is the id of the stream for what belongs to no request.
const standingStream = "_GET_stream"

// standing is that stream of a runtime.
type standing struct {
	mu     sync.Mutex
	opened bool
	sink   *sink
}

// attach lets a client read it; whoever read it before is told why it is not their's any more.
func (s *standing) attach(to *sink, why end) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		s.sink.finish(why)
	}
	s.sink = to
}

func (s *standing) detach(from *sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink == from {
		s.sink = nil
	}
}

// undelivered tells the client that listens that an answer was stored which nobody has read.
func (s *standing) undelivered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		s.sink.kick()
	}
}

// send stores a message and passes it on.
func (s *standing) send(ctx context.Context, rt *runtime, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened {
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		err := rt.e.Store.OpenStream(limited, store.Stream{Session: rt.id, ID: standingStream, OpenedAt: rt.e.Now()})
		if err != nil && !errors.Is(err, store.ErrExists) {
			return &storeError{err}
		}
		s.opened = true
	}
	seq, err := rt.e.append(ctx, store.Event{Session: rt.id, Stream: standingStream, Data: data})
	if err != nil {
		return err
	}
	if s.sink != nil && !s.sink.push(frame{stream: standingStream, seq: seq, data: data}) {
		s.sink = nil
	}
	return nil
}
