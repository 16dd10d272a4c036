package api

import "sync"

const (
	// maxStreams bounds the streams of events of one process, and maxStreamsEach those of one caller.
	maxStreams     = 256
	maxStreamsEach = 16
)

// places counts the streams of events that are open.
type places struct {
	mu   sync.Mutex
	all  int
	each map[string]int
}

// take takes a place for a caller, who gives it back.
func (p *places) take(who string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.each[who] >= maxStreamsEach:
		return failf(CodeBusy, "You have %d streams of events open here: close one.", maxStreamsEach)
	case p.all >= maxStreams:
		return failf(CodeBusy, "Too many streams of events are open here: close one, or ask another gateway.")
	case p.each == nil:
		p.each = map[string]int{}
	}
	p.all++
	p.each[who]++
	return nil
}

func (p *places) give(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.each[who]--; p.each[who] == 0 {
		delete(p.each, who)
	}
}
