package mcpserver

import (
	"sync"
	"time"
)

// maxPending is how many bytes wait for a client that reads slowly. One message may be larger.
const maxPending = 8 << 20

// end says why a stream's body ends.
type end int

const (
	endNone       end = iota
	endDone           // the last response was passed on
	endSuperseded     // another connection reads the stream
	endSlow           // the client does not read
	endRetry          // the client shall come back
	endClosed         // the runtime has ended
	endGone           // the client has gone, or the endpoint stops
	endRotated        // it was open for long enough
	endReplay         // something else has to be delivered now; then it goes on
)

// frame is one event of a stream. Its parts are not copied together: a message may be large.
type frame struct {
	stream  string
	seq     int64 // 0 is a place before the first message; of a message: it is not stored, and told without an id
	data    []byte
	priming bool
}

func (f frame) unstored() bool { return f.seq == 0 && !f.priming }

// sink is what waits for one HTTP answer to write it.
type sink struct {
	wake chan struct{}

	mu      sync.Mutex
	frames  []frame
	pending int // bytes that are not written
	why     end
	kicked  bool          // something else has to be delivered, and then it goes on
	wait    time.Duration // of endRetry
	cut     func()        // makes a write that hangs fail
}

func newSink() *sink { return &sink{wake: make(chan struct{}, 1)} }

func (s *sink) onCut(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = f
}

// push adds a frame, or cuts a client off for whom too much waits. It reports whether there is still a client.
func (s *sink) push(f frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why != endNone {
		return false
	}
	if s.pending > maxPending {
		s.frames, s.why = nil, endSlow
		if s.cut != nil {
			s.cut()
		}
		s.signal()
		return false
	}
	s.frames = append(s.frames, f)
	s.pending += len(f.data)
	s.signal()
	return true
}

// finish ends it after what waits was written.
func (s *sink) finish(why end) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == endNone {
		s.why = why
		s.signal()
	}
}

// retry ends it and has the client come back after a while; 0: whenever it likes.
func (s *sink) retry(after time.Duration) {
	s.mu.Lock()
	s.wait = after
	s.mu.Unlock()
	s.finish(endRetry)
}

func (s *sink) waits() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait
}

// take gives what waits, and whether something comes after it.
func (s *sink) take() ([]frame, end) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames, why := s.frames, s.why
	s.frames = nil
	if s.kicked && why == endNone {
		why = endReplay
	}
	s.kicked = false
	return frames, why
}

// kick has whoever reads it look elsewhere first.
func (s *sink) kick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kicked = true
	s.signal()
}

// wrote says that bytes wait no more.
func (s *sink) wrote(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending -= bytes
}

// signal needs the lock.
func (s *sink) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}
