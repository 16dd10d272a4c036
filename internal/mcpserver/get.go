package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// page bounds the events that are read at once. A stream has at most 64, but for what a writer appends meanwhile.
const page = 100

// get is a client that listens: to what it missed of a stream, or to what belongs to no request.
func (e *Endpoint) get(w http.ResponseWriter, q *request) error {
	if q.session == "" && q.version() >= protocolModern {
		return e.noSuchMethod(w)
	}
	if err := checkVersion(q.version()); err != nil {
		return err
	}
	if _, asStream := accepts(q.Header.Values("Accept")); !asStream {
		return refuse(http.StatusNotAcceptable, codeTransport, "Not Acceptable: the client must accept text/event-stream")
	}
	row, err := e.admit(q)
	if err != nil {
		return err
	}
	rt, err := e.use(q, row)
	if err != nil {
		return err
	}
	// The stream counts, not the request: an idle listener does not keep a session from sleeping for ever.
	rt.reading(1)
	rt.unuse()
	defer rt.reading(-1)

	l := &listener{follower: e.newFollower(w, q, row.ID, row.Protocol), row: row, rt: rt}
	l.listens = true
	defer l.release()
	stream, after, named := parseEventID(q.Header.Get(headerLastEvent))
	if named && stream != standingStream {
		found, err := l.resume(stream, after)
		if err != nil && !l.begun {
			return err
		}
		if found || err != nil {
			return nil
		}
	}
	if !named || stream != standingStream {
		after = -1
	}
	if err := l.listen(after); err != nil && !l.begun {
		return err
	}
	return nil
}

// listener is a GET.
type listener struct {
	*follower

	row   store.Session
	rt    *runtime
	retry time.Time // when a takeover that failed is tried again
}

// lapsed reports whether a stream's replica has gone, and it is time to take its requests over.
func (l *listener) lapsed(row store.Stream) bool {
	now := l.e.Now()
	if !row.DoneAt.IsZero() || !row.Until.Before(now) || now.Before(l.retry) {
		return false
	}
	l.retry = now.Add(l.e.Settings.Timing.Sweep)
	return true
}

// resume takes up a stream after a position. It reports whether there was anything to deliver; where not, the client only listens.
func (l *listener) resume(stream string, after int64) (bool, error) {
	row, err := l.stream(stream)
	if errors.Is(err, store.ErrNotFound) || err == nil && !row.AckedAt.IsZero() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !row.DoneAt.IsZero() {
		rest, err := l.events(stream, after)
		if err != nil || len(rest) == 0 {
			return false, err
		}
	}
	l.begin()
	if l.comment("keepalive") != nil {
		return true, nil
	}
	if l.chase(row, after) != endDone {
		return true, nil
	}
	return true, l.deliver(stream)
}

// chase follows a stream until it is done: in this process, where its requests are worked on here, else through the log. Requests
// whose replica has gone are taken over.
func (l *listener) chase(row store.Stream, after int64) end {
	poll := time.NewTicker(l.e.Settings.Timing.Poll)
	defer poll.Stop()
	for {
		if why, here := l.attach(row.ID, &after); here && why != endNone {
			return why
		}
		if l.lapsed(row) && l.e.takeOver(l.q, l.row, row) {
			continue
		}
		if err := l.catchUp(row.ID, &after); err != nil {
			return endGone
		}
		if !row.DoneAt.IsZero() {
			return endDone
		}
		select {
		case <-poll.C:
		case <-l.ticker.C:
			if l.comment("keepalive") != nil {
				return endGone
			}
		case <-l.stopped():
			return endGone
		case <-l.q.Context().Done():
			return endGone
		}
		if l.rotated() {
			return endRotated
		}
		fresh, err := l.stream(row.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return endClosed // the session has ended
		case err == nil:
			row = fresh
		}
	}
}

// attach follows a stream that this process works on. It reports whether it does.
func (l *listener) attach(stream string, after *int64) (end, bool) {
	s := l.e.local(l.row.ID, stream)
	if s == nil {
		return endNone, false
	}
	own := newSink()
	if !s.attach(own) {
		return endNone, false // it has just been answered: the log has it all
	}
	defer s.detach(own)
	// What was stored before the sink was there is in the log; what the sink holds of it is left out.
	if l.catchUp(stream, after) != nil {
		return endGone, true
	}
	return l.follow(own, after, nil), true
}

// local is a stream that this process works on.
func (e *Endpoint) local(session, stream string) *stream {
	rt := e.residents.get(session)
	if rt == nil {
		return nil
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.streams[stream]
}

// catchUp writes what the log has after a position.
func (l *listener) catchUp(stream string, after *int64) error {
	for {
		events, err := l.events(stream, *after)
		if err != nil {
			if l.q.Context().Err() == nil {
				return nil // the next look may find it
			}
			return err
		}
		if err := l.replay(events, after); err != nil {
			return err
		}
		if len(events) < page {
			return nil
		}
	}
}

func (l *listener) replay(events []store.Event, after *int64) error {
	if len(events) == 0 {
		return nil
	}
	for _, event := range events {
		*after = event.Seq
		if len(event.Data) == 0 {
			continue // a priming event has done its work
		}
		if err := l.frame(frame{stream: event.Stream, seq: event.Seq, data: event.Data}); err != nil {
			return err
		}
	}
	return l.control.Flush()
}

// deliver replays every other stream that nobody has acknowledged, and acknowledges what this client has now.
func (l *listener) deliver(delivered ...string) error {
	others, err := l.undelivered()
	if err != nil {
		return err
	}
	for _, other := range others {
		if len(delivered) > 0 && other.ID == delivered[0] {
			continue
		}
		from := int64(0)
		if err := l.catchUp(other.ID, &from); err != nil {
			return err
		}
		delivered = append(delivered, other.ID)
	}
	if err := l.comment("replay-complete"); err != nil {
		return err
	}
	if err := l.q.Context().Err(); err != nil {
		return err // nobody is there: it stays undelivered
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.q.Context()), storeTimeout)
	defer cancel()
	for _, stream := range delivered {
		if err := l.e.Store.AckStream(ctx, l.row.ID, stream, l.e.Now()); err != nil && !errors.Is(err, store.ErrNotFound) {
			l.e.Log.WarnContext(ctx, "a delivered MCP stream was not acknowledged", "error", err)
		}
	}
	return nil
}

func (l *listener) stream(id string) (store.Stream, error) {
	ctx, cancel := context.WithTimeout(l.q.Context(), storeTimeout)
	defer cancel()
	return wrapStore(l.e.Store.Stream(ctx, l.row.ID, id))
}

func (l *listener) events(stream string, after int64) ([]store.Event, error) {
	ctx, cancel := context.WithTimeout(l.q.Context(), storeTimeout)
	defer cancel()
	return wrapStore(l.e.Store.Events(ctx, l.row.ID, stream, after, page))
}

func (l *listener) undelivered() ([]store.Stream, error) {
	ctx, cancel := context.WithTimeout(l.q.Context(), storeTimeout)
	defer cancel()
	return wrapStore(l.e.Store.UndeliveredStreams(ctx, l.row.ID))
}

// wrapStore marks an error as one of the store. What is not there is none.
func wrapStore[T any](value T, err error) (T, error) {
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = &storeError{err}
	}
	return value, err
}
