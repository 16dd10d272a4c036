package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// streamBuffer is how far a reader may fall behind before its stream is ended.
const streamBuffer = 4096

// eventIDs makes event ids unique in the process.
var eventIDs atomic.Uint64

// event is the payload as both streams carry it.
type event struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Properties any    `json:"properties"`
}

// envelope is what /global/event wraps around it.
type envelope struct {
	Directory string `json:"directory,omitempty"`
	Project   string `json:"project,omitempty"`
	Payload   event  `json:"payload"`
}

func newEvent(kind string, properties any) event {
	if properties == nil {
		properties = struct{}{}
	}
	return event{ID: "evt_" + strconv.FormatUint(eventIDs.Add(1), 36), Type: kind, Properties: properties}
}

// hub hands events to the open streams.
type hub struct {
	blind time.Duration

	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	instance *instance // nil on /global/event
	since    time.Time // when server.connected was written
	frames   chan []byte
	over     bool // frames is closed
}

func newHub(blind time.Duration) *hub {
	return &hub{blind: blind, subs: make(map[*subscriber]struct{})}
}

func (h *hub) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

func (h *hub) join(on *instance) *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	joined := &subscriber{instance: on, since: time.Now(), frames: make(chan []byte, streamBuffer)}
	h.subs[joined] = struct{}{}
	return joined
}

func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, s)
}

// publish sends an event to every global stream and to those of its instance. A stream that is still blind loses it,
// and with last also its end: such a stream stays open and mute, as the real one does.
func (h *hub) publish(of *instance, wrapped envelope, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) == 0 {
		return
	}
	global, local := frame(wrapped), frame(wrapped.Payload)
	for s := range h.subs {
		if s.over || time.Since(s.since) < h.blind {
			continue
		}
		switch {
		case s.instance == nil:
			s.offer(global, false)
		case of != nil && s.instance == of:
			s.offer(local, last)
		}
	}
}

func (s *subscriber) offer(data []byte, last bool) {
	select {
	case s.frames <- data:
	default:
		last = true
	}
	if last {
		s.over = true
		close(s.frames)
	}
}

func frame(value any) []byte {
	encoded, err := json.Marshal(value)
	if err != nil {
		encoded = []byte(`{}`)
	}
	return fmt.Appendf(nil, "data: %s\n\n", encoded)
}

// stream writes events until its reader leaves, its instance is disposed or the engine dies.
func (e *Engine) stream(w http.ResponseWriter, r *http.Request, on *instance) {
	hub := e.current().hub
	own := func(kind string) []byte {
		if on == nil {
			return frame(envelope{Payload: newEvent(kind, nil)})
		}
		return frame(newEvent(kind, nil))
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(own("server.connected")) // a reader that left ends the context
	flush(w)
	joined := hub.join(on)
	defer hub.leave(joined)

	heartbeat := time.NewTicker(e.options.Heartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-heartbeat.C:
			_, _ = w.Write(own("server.heartbeat"))
		case data, open := <-joined.frames:
			if !open {
				return
			}
			_, _ = w.Write(data)
		}
		flush(w)
	}
}

// emit publishes an event of a directory, unless events are blocked.
func (e *Engine) emit(run *run, directory, kind string, properties any) {
	run.mu.Lock()
	of := run.instances[directory]
	run.mu.Unlock()
	e.publish(run, of, envelope{Directory: directory, Project: "global", Payload: newEvent(kind, properties)}, false)
}

func (e *Engine) publish(run *run, of *instance, wrapped envelope, last bool) {
	if !e.blocked.Load() {
		run.hub.publish(of, wrapped, last)
	}
}
