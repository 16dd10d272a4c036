package mcpserver

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Versions by which the transport differs.
const (
	protocolModern   = "2026-07-28"
	protocolPolling  = "2025-11-25" // priming events have no data; a server may close a stream and have the client come back
	protocolNoBatch  = "2025-06-18" // batches are gone
	protocolAssumed  = "2025-03-26" // of a request that names none
	contentTypeJSON  = "application/json"
	contentTypeSSE   = "text/event-stream"
	headerType       = "Content-Type"
	headerCache      = "Cache-Control"
	cacheNever       = "no-cache, no-transform"
	messageNoSession = "Bad Request: Mcp-Session-Id header is required"
)

func (e *Endpoint) post(w http.ResponseWriter, q *request) error {
	if asJSON, asStream := accepts(q.Header.Values("Accept")); !asJSON || !asStream {
		return refuse(http.StatusNotAcceptable, codeTransport, "Not Acceptable: the client must accept application/json and text/event-stream")
	}
	if kind, _, _ := strings.Cut(q.Header.Get(headerType), ";"); !strings.EqualFold(strings.TrimSpace(kind), contentTypeJSON) {
		return refuse(http.StatusUnsupportedMediaType, codeTransport, "Unsupported Media Type: the content must be application/json")
	}
	body, err := e.readBody(w, q)
	if err != nil {
		return err
	}
	messages, batch, err := parseBody(body)
	if err != nil {
		return err
	}
	if err := checkVersion(q.version()); err != nil {
		return err
	}
	if q.modern(messages) {
		if batch {
			return errBatch
		}
		return e.postModern(w, q, body, &messages[0])
	}
	for i := range messages {
		if messages[i].method == methodInitialize {
			return e.initialize(w, q, messages)
		}
	}
	row, err := e.admit(q)
	if err != nil {
		return err
	}
	if batch && row.Protocol >= protocolNoBatch {
		return errBatch
	}
	return e.accept(w, q, row, messages, batch)
}

func (e *Endpoint) readBody(w http.ResponseWriter, q *request) ([]byte, error) {
	limit := e.Settings.MaxBody
	tooLarge := refuse(http.StatusRequestEntityTooLarge, codeTransport, "Payload Too Large: the body has more than "+sizeText(limit))
	if q.ContentLength > limit {
		return nil, tooLarge
	}
	if q.ContentLength >= 0 {
		body := make([]byte, q.ContentLength)
		if _, err := io.ReadFull(q.Body, body); err != nil {
			return nil, refuse(http.StatusBadRequest, codeTransport, "Bad Request: the body ended early")
		}
		return body, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, limit))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, codeTransport, "Bad Request: the body ended early")
	}
	return body, nil
}

// accept takes the messages of a session: what needs no answer is taken and that is all; requests are answered.
func (e *Endpoint) accept(w http.ResponseWriter, q *request, row store.Session, messages []message, batch bool) error {
	var ids []json.RawMessage
	plain := false
	for i := range messages {
		switch m := &messages[i]; {
		case m.call():
			ids = append(ids, m.id)
		case m.response() || m.method == notifyCancelled:
			if err := e.forward(q.Context(), row.ID, m); err != nil {
				return err
			}
		default:
			plain = true
		}
	}
	if len(ids) == 0 && !plain {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	rt, err := e.use(q, row)
	if err != nil {
		return err
	}
	defer rt.unuse()
	if len(ids) == 0 {
		for i := range messages {
			if m := &messages[i]; !m.response() && m.method != notifyCancelled {
				rt.conn.feed(&jsonrpc.Request{Method: m.method, Params: m.params, Extra: rt.extra(nil, q.who, q.Header)})
			}
		}
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	s := rt.newStream(newToken(), e.Now())
	s.batch = batch
	if err := rt.dispatch(s, q, messages, ids); err != nil {
		return err
	}
	return e.hold(w, q, s)
}

// dispatch feeds a POST's messages to the server, in their order.
func (rt *runtime) dispatch(s *stream, q *request, messages []message, ids []json.RawMessage) error {
	for i := range messages {
		if messages[i].call() {
			s.requests = append(s.requests, messages[i].raw)
		}
	}
	s.open = ids
	calls, err := rt.register(s, append([]json.RawMessage(nil), ids...))
	if err != nil {
		return err
	}
	next := 0
	for i := range messages {
		m := &messages[i]
		switch {
		case m.call():
			c := calls[next]
			next++
			if extra := rt.extra(c, q.who, q.Header); !rt.direct(c, m, extra) {
				rt.conn.feed(&jsonrpc.Request{ID: c.id, Method: m.method, Params: m.params, Extra: extra})
			}
		case !m.response() && m.method != notifyCancelled:
			rt.conn.feed(&jsonrpc.Request{Method: m.method, Params: m.params, Extra: rt.extra(nil, q.who, q.Header)})
		}
	}
	return nil
}

// hold waits for the answers of a POST: soon they are plain JSON, later a stream.
func (e *Endpoint) hold(w http.ResponseWriter, q *request, s *stream) error {
	quick := time.NewTimer(e.Settings.Timing.Quick)
	defer quick.Stop()
	warned := false
	for {
		select {
		case <-s.change:
			return e.settle(w, q, s)
		case <-q.Context().Done():
			e.orphan(s)
			return nil
		case <-quick.C:
			// The server's deadlines are for requests that are answered soon.
			control := http.NewResponseController(w)
			_ = control.SetReadDeadline(time.Time{})
			_ = control.SetWriteDeadline(time.Time{})
			if err := s.log(q.Context()); err != nil {
				// Without a log there is no stream that could be taken up again: the answer stays plain.
				if !warned {
					e.Log.WarnContext(q.Context(), "an MCP request cannot be followed by other replicas", "error", err)
				}
				warned = true
				quick.Reset(4 * e.Settings.Timing.Quick)
			}
		}
	}
}

// settle answers a POST whose stream has left its first mode.
func (e *Endpoint) settle(w http.ResponseWriter, q *request, s *stream) error {
	s.mu.Lock()
	mode, why, answers, sink := s.mode, s.why, s.answers, s.post
	s.mu.Unlock()
	switch mode {
	case streamAborted:
		return why
	case streamAnswers:
		if q.Context().Err() != nil || writeAnswers(w, s, answers) != nil {
			e.orphan(s)
		}
		return nil
	case streamQuick, streamLogged:
	}
	if sink == nil {
		return nil // its client had gone
	}
	f := e.newFollower(w, q, s.rt.id, s.rt.meta.Protocol)
	f.begin()
	defer f.release()
	s.rt.reading(1)
	defer s.rt.reading(-1)
	var after int64
	if f.follow(sink, &after, nil) == endDone && q.Context().Err() == nil {
		e.keeper.done(delivery{session: s.rt.id, stream: s.id, at: e.Now()})
	}
	s.detach(sink)
	return nil
}

// orphan stores what its client has not taken, so that it is delivered when the client comes back.
func (e *Endpoint) orphan(s *stream) {
	if err := s.leave(e.ending); err != nil {
		e.Log.Log(e.ending, e.gravity(s.rt.id, slog.LevelWarn), "the answer to an MCP client that has gone is not stored", "error", err)
	}
}

// writeAnswers is a plain JSON answer.
func writeAnswers(w http.ResponseWriter, s *stream, answers []answered) error {
	h := w.Header()
	h.Set(headerType, contentTypeJSON)
	h.Set(headerCache, cacheNever)
	h.Set(headerSession, s.rt.id)
	control := http.NewResponseController(w)
	if !s.batch {
		return writeAll(w, control, answers[0].data)
	}
	for i, a := range answers {
		open := ","
		if i == 0 {
			open = "["
		}
		if err := writeAll(w, control, []byte(open)); err != nil {
			return err
		}
		if err := writeAll(w, control, a.data); err != nil {
			return err
		}
	}
	return writeAll(w, control, []byte("]"))
}
