package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// streamMode is how far a POST has come.
type streamMode int

const (
	streamQuick   streamMode = iota // nothing is stored; the answer may still become plain JSON
	streamAnswers                   // answered whole before anything was stored
	streamLogged                    // its messages go through the log
	streamAborted                   // the runtime has ended
)

// stream is what belongs to one POST with requests: the messages that go back.
type stream struct {
	rt     *runtime
	id     string
	opened time.Time
	batch  bool
	// requests are what another replica needs to take it over.
	requests []json.RawMessage

	change chan struct{} // closed when the mode is streamQuick no more

	mu       sync.Mutex
	mode     streamMode
	why      error // of streamAborted
	open     []json.RawMessage
	answers  []answered
	attached bool  // its POST is still there
	parted   bool  // its client was asked to come back for the rest
	post     *sink // what its POST reads, if it is a stream
	sink     *sink // whoever reads it now; nil: nobody
}

type answered struct {
	id   json.RawMessage
	data []byte
}

func (rt *runtime) newStream(id string, now time.Time) *stream {
	return &stream{rt: rt, id: id, opened: now, change: make(chan struct{}), attached: true}
}

// answer takes the response to one of its requests.
func (s *stream) answer(c *call, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.mode {
	case streamQuick:
		s.drop(c.raw)
		s.answers = append(s.answers, answered{c.raw, data})
		if len(s.open) == 0 {
			s.mode = streamAnswers
			close(s.change)
		}
	case streamLogged:
		s.answerLogged(answered{c.raw, data})
	case streamAnswers, streamAborted: // nobody waits for it here
	}
}

// drop needs the lock.
func (s *stream) drop(id json.RawMessage) {
	for i, open := range s.open {
		if string(open) == string(id) {
			s.open = append(s.open[:i:i], s.open[i+1:]...)
			return
		}
	}
}

// answerLogged stores a response and passes it on. Where it cannot be stored, whoever reads the stream gets it without an id, and
// the stream is left for whoever comes to it next.
func (s *stream) answerLogged(a answered) {
	s.drop(a.id)
	seq, err := s.rt.e.storeAnswer(s.rt.id, s.id, a)
	if err == nil || !errors.Is(err, store.ErrAnswered) {
		s.push(frame{stream: s.id, seq: seq, data: a.data})
	}
	if err != nil {
		s.rt.e.keeper.giveUp(s.rt.id)
	}
	if len(s.open) > 0 {
		return
	}
	read := s.sink != nil
	if read {
		s.sink.finish(endDone)
		s.sink = nil
	}
	s.rt.forget(s)
	if !read && !s.parted {
		s.rt.standing.undelivered()
	}
}

// send stores a message that is no response, and passes it on.
func (s *stream) send(ctx context.Context, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.mode {
	case streamQuick:
		if err := s.logLocked(ctx); err != nil {
			return err
		}
	case streamAborted:
		return s.why
	case streamAnswers:
		return errors.New("the request is answered: nothing comes after its response")
	case streamLogged:
	}
	seq, err := s.rt.e.append(ctx, store.Event{Session: s.rt.id, Stream: s.id, Data: data})
	if err != nil {
		return err
	}
	s.push(frame{stream: s.id, seq: seq, data: data})
	return nil
}

// push needs the lock.
func (s *stream) push(f frame) {
	if s.sink != nil && !s.sink.push(f) {
		s.sink = nil // cut: it reads too slowly
	}
}

// log begins to store the messages. From then on the answer is a stream.
func (s *stream) log(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logLocked(ctx)
}

func (s *stream) logLocked(ctx context.Context) error {
	if s.mode != streamQuick && s.mode != streamAnswers {
		return nil
	}
	wasOpen := s.mode == streamQuick
	if err := s.openLog(ctx); err != nil {
		return err
	}
	if s.attached {
		s.post = newSink()
		s.sink = s.post
	}
	s.push(frame{stream: s.id, seq: 1, priming: true})
	s.mode = streamLogged
	if len(s.open) > 0 {
		s.rt.remember(s)
	}
	answers := s.answers
	s.answers = nil
	for _, a := range answers {
		s.answerLogged(a)
	}
	if wasOpen {
		close(s.change)
	}
	return nil
}

// openLog writes the stream's row and the priming event, by which a client whose connection is cut finds it again.
func (s *stream) openLog(ctx context.Context) error {
	e := s.rt.e
	messages, err := json.Marshal(s.requests)
	if err != nil {
		return err
	}
	var open []string
	for _, a := range s.answers {
		open = append(open, string(a.id))
	}
	for _, id := range s.open {
		open = append(open, string(id))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err = e.Store.OpenStream(ctx, store.Stream{
		Session: s.rt.id, ID: s.id, Requests: open, OpenedAt: s.opened, Messages: messages,
		Owner: e.owner, Until: e.Now().Add(e.Settings.Timing.Lease),
	})
	if err != nil && !errors.Is(err, store.ErrExists) { // a try before has written the row, and then failed
		return &storeError{err}
	}
	_, err = e.append(ctx, store.Event{Session: s.rt.id, Stream: s.id})
	return err
}

// attach lets a client read what comes from now on; whoever read it before is told that another does.
func (s *stream) attach(to *sink) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mode != streamLogged || len(s.open) == 0 {
		return false
	}
	if s.sink != nil {
		s.sink.finish(endSuperseded)
	}
	s.sink = to
	return true
}

// detach says that a client reads no more.
func (s *stream) detach(from *sink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink == from {
		s.sink = nil
	}
}

// leave says that the POST's client has gone: what comes is stored.
func (s *stream) leave(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached = false
	if s.sink != nil {
		s.sink = nil
	}
	return s.logLocked(ctx)
}

// abort ends it with its runtime. Requests that are in the log stay there for whoever takes them over.
func (s *stream) abort(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.mode {
	case streamQuick:
		close(s.change)
	case streamAnswers:
		return
	case streamLogged, streamAborted:
	}
	s.mode, s.why = streamAborted, why
	if s.sink != nil {
		s.sink.finish(endClosed)
		s.sink = nil
	}
}

// closeBody is the SDK's CloseSSEStream: the client is asked to come back for the rest.
func (s *stream) closeBody(args mcp.CloseSSEStreamArgs) {
	if s.rt.meta.Protocol < protocolPolling {
		return // such clients do not come back
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logLocked(s.rt.e.ending) != nil || s.sink == nil {
		return
	}
	s.sink.retry(args.RetryAfter)
	s.sink, s.parted = nil, true
}

// remember and forget keep the runtime's list of streams that go on.
func (rt *runtime) remember(s *stream) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.streams[s.id] = s
	rt.e.keeper.add(1)
}

func (rt *runtime) forget(s *stream) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.streams[s.id] == s {
		delete(rt.streams, s.id)
		rt.e.keeper.add(-1)
	}
}
