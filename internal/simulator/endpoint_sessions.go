package simulator

import (
	"crypto/rand"
	"sync"
)

// sessions is the endpoint's table of open MCP sessions and their standing streams.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

type session struct {
	ended   chan struct{}
	streams map[chan []byte]struct{}
}

func (s *sessions) create() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*session)
	}
	s.byID[id] = &session{ended: make(chan struct{})}
	return id
}

func (s *sessions) known(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id] != nil
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byID[id]; found != nil {
		close(found.ended)
		delete(s.byID, id)
	}
}

func (s *sessions) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.byID {
		close(each.ended)
	}
	s.byID = nil
}

func (s *sessions) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

func (s *sessions) streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, each := range s.byID {
		sum += len(each.streams)
	}
	return sum
}

// subscribe opens a standing stream of a session; leave closes it. ok is false for an unknown session.
func (s *sessions) subscribe(id string) (messages <-chan []byte, ended <-chan struct{}, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.byID[id]
	if found == nil {
		return nil, nil, nil, false
	}
	stream := make(chan []byte, 16)
	if found.streams == nil {
		found.streams = make(map[chan []byte]struct{})
	}
	found.streams[stream] = struct{}{}
	return stream, found.ended, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(found.streams, stream)
	}, true
}

// broadcast sends a message once to each session that has a stream; one that does not read loses it.
func (s *sessions) broadcast(message []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := 0
	for _, each := range s.byID {
		for stream := range each.streams {
			select {
			case stream <- message:
				sent++
			default:
			}
			break // the protocol forbids the same message on two streams of one session
		}
	}
	return sent
}
