package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// streamEvents sends the transitions of a connection as they happen. Each event has the transition's sequence as its id, so that
// a reader who comes back with Last-Event-ID misses none that is retained; without it the last transition comes first.
func streamEvents(a *API, w http.ResponseWriter, c *call) {
	t, err := a.target(c, "workspace")
	after := int64(-1)
	if err == nil {
		after, err = lastEventID(c)
	}
	if err == nil && !t.known {
		err = fail(CodeConnectionNotFound)
	}
	if err != nil {
		a.refuse(w, c.Request, asError(err))
		return
	}
	a.stream(c, w, "transitions of "+t.key.Workspace+"/"+t.key.Name, func(f feed) source { return &stream{feed: f, target: t, after: after} })
}

func lastEventID(c *call) (int64, error) {
	text := c.Header.Get("Last-Event-ID")
	if text == "" {
		return -1, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, failf(CodeInvalidPayload, "Last-Event-ID must be the id of an event.")
	}
	return after, nil
}

// stream is one reader's stream of transitions.
type stream struct {
	feed

	target target
	// after is the sequence of the last transition that was sent; -1 before the first.
	after int64
	// pending were read, and not sent yet.
	pending []connection.Transition
}

// first reads what there is, while an error can still be an answer of its own.
func (s *stream) first(ctx context.Context) error {
	rows, err := query(ctx, s.api, func(ctx context.Context) ([]connection.Transition, error) {
		if s.after >= 0 {
			return s.api.Connections.History(ctx, s.target.key)
		}
		return s.api.Connections.Transitions(ctx, connection.ID(s.target.key))
	})
	if missing(err) {
		return nil // it is wanted and was never started
	}
	if err != nil {
		return err
	}
	if n := len(rows); n > 0 {
		newest := rows[n-1].Sequence
		switch {
		case s.after < 0:
			s.after = newest - 1
		case s.after > newest:
			s.after = newest // of another life, or made up: only what comes now is new
		}
	}
	s.pending = rows
	return nil
}

// poll looks for what is new. That nobody answers is no end: the stream waits for better times.
func (s *stream) poll(ctx context.Context) {
	rows, err := query(ctx, s.api, func(ctx context.Context) ([]connection.Transition, error) {
		return s.api.Connections.Transitions(ctx, connection.ID(s.target.key))
	})
	if err == nil {
		s.pending = rows
	}
}

// send writes what was not sent yet, and reports whether the reader still takes it.
func (s *stream) send() bool {
	if n := len(s.pending); n > 0 && s.pending[n-1].Sequence < s.after {
		s.after = 0 // it was removed and is wanted again: another life, counted from 1
	}
	for _, t := range s.pending {
		if t.Sequence <= s.after {
			continue
		}
		raw, err := json.Marshal(t)
		if err != nil || !s.write(fmt.Sprintf("id: %d\nevent: transition\ndata: %s\n\n", t.Sequence, raw)) {
			return false
		}
		s.after = t.Sequence
	}
	s.pending = nil
	return true
}
