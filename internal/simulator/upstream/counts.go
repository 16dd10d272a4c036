package upstream

import "maps"

// Counts are what happened on a server.
type Counts struct {
	// Calls counts calls by tool, those that failed too.
	Calls map[string]int `json:"calls"`
	// Effects counts what put, save and add did, by the name in their arguments.
	Effects map[string]int `json:"effects"`
	// Keys counts effects by idempotency key.
	Keys map[string]int `json:"keys"`
	// Values are what was written last, by name.
	Values map[string]string `json:"values"`
	// Headers counts calls whose key came in the header, too.
	Headers int `json:"headers"`
	// Answers are what was answered to questions, in order: accept, decline or cancel.
	Answers []string `json:"answers"`
}

func newCounts() Counts {
	return Counts{Calls: map[string]int{}, Effects: map[string]int{}, Keys: map[string]int{}, Values: map[string]string{}}
}

// Counts are what happened so far.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := s.counts
	copied.Calls, copied.Effects = maps.Clone(s.counts.Calls), maps.Clone(s.counts.Effects)
	copied.Keys, copied.Values = maps.Clone(s.counts.Keys), maps.Clone(s.counts.Values)
	copied.Answers = append([]string(nil), s.counts.Answers...)
	return copied
}

// Release lets calls of slow under this name end, those that are still to come too.
func (s *Server) Release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	open(s.gate(name))
}

func (s *Server) releaseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, gate := range s.released {
		open(gate)
	}
}

func open(gate chan struct{}) {
	select {
	case <-gate:
	default:
		close(gate)
	}
}

// gate is called under the lock.
func (s *Server) gate(name string) chan struct{} {
	if s.released[name] == nil {
		s.released[name] = make(chan struct{})
	}
	return s.released[name]
}

// write is one effect. Where the key is honoured and was seen before, nothing happens.
func (s *Server) write(name, value, key string) (happened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.options.HonoursKey && key != "" && s.counts.Keys[key] > 0 {
		return false
	}
	s.counts.Effects[name]++
	s.counts.Values[name] = value
	if key != "" {
		s.counts.Keys[key]++
	}
	return true
}

func (s *Server) answered(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Answers = append(s.counts.Answers, action)
}
