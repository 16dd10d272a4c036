package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// streamLimit is how long a live page's stream lasts; the browser opens another one.
	streamLimit = 10 * time.Minute
	streamWrite = 10 * time.Second
)

// update is what a live page is told: the part of the page that has changed.
type update struct {
	State string `json:"state"`
	HTML  string `json:"html"`
	Count int    `json:"count"`
	// Final says that nothing more will come.
	Final bool `json:"final"`
}

// follow tells a live page what changes until it goes, the gateway stops, its login is over, or nothing can change any more. look
// makes the update anew; an error that passes is waited out, and one for good ends the stream.
func (w *Web) follow(rw http.ResponseWriter, v *visit, look func(context.Context) (update, error)) {
	select {
	case w.streams <- struct{}{}:
		defer func() { <-w.streams }()
	default:
		rw.Header().Set("Retry-After", "5")
		http.Error(rw, "too many live pages", http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(v.Context(), streamLimit)
	defer cancel()
	defer context.AfterFunc(w.serving, cancel)()
	s := &stream{out: rw, control: http.NewResponseController(rw)}
	_ = s.control.SetReadDeadline(time.Time{}) // a server without deadlines has none to lift
	h := rw.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	poll, again, alive := time.NewTicker(w.Settings.Poll), time.NewTicker(w.Settings.AskAgain), time.NewTicker(w.Settings.KeepAlive)
	defer poll.Stop()
	defer again.Stop()
	defer alive.Stop()
	if !s.write("retry: 2000\n\n") {
		return
	}
	for s.send(ctx, look) {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			if !w.still(ctx, v) {
				s.write("event: over\ndata: {}\n\n")
				return
			}
		case <-alive.C:
			if !s.write(": alive\n\n") {
				return
			}
		case <-poll.C:
		}
	}
}

// still reports whether the login holds: a token may have been revoked. A store that cannot say is waited out.
func (w *Web) still(ctx context.Context, v *visit) bool {
	if w.Auth.Open() {
		return true
	}
	_, err := w.Auth.Sessions().Read(ctx, v.Request)
	var down *auth.UnavailableError
	return err == nil || errors.As(err, &down)
}

// stream is one live page's stream.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	last    string
}

// send tells what has changed, and reports whether the stream goes on.
func (s *stream) send(ctx context.Context, look func(context.Context) (update, error)) bool {
	asking, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	now, err := look(asking)
	if err != nil {
		return ctx.Err() == nil && !gone(err)
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return false
	}
	if string(raw) == s.last {
		return true
	}
	s.last = string(raw)
	return s.write(fmt.Sprintf("event: update\ndata: %s\n\n", raw)) && !now.Final
}

func (s *stream) write(text string) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := s.out.Write([]byte(text)); err != nil {
		return false
	}
	return s.control.Flush() == nil
}

func (w *Web) resumeEvents(rw http.ResponseWriter, v *visit) {
	row, err := w.paused(v.Context(), v.caller(w), v.PathValue("id"))
	if err != nil {
		w.fault(rw, v, err)
		return
	}
	var (
		told update
		at   = marks{all: -1}
	)
	w.follow(rw, v, func(ctx context.Context) (update, error) {
		next, changed, err := w.changed(ctx, row.Key, at)
		over := told.State == statePending && !w.Now().Before(row.Deadline)
		if err != nil || !changed && !over {
			at = next
			return told, err
		}
		found, err := w.look(ctx, v.caller(w), row.ID)
		if err != nil {
			return update{}, err
		}
		view := w.view(found, v.session.Principal)
		html, err := w.part("resume", "state", view)
		if err != nil {
			return update{}, err
		}
		at, told = next, update{State: view.State, HTML: html, Final: view.Final}
		return told, nil
	})
}

// marks tell whether an execution has changed since it was looked at: by the last change of all pauses, which is cheap to read, and by
// that of its own. Whatever becomes of an execution is a change of its pauses.
type marks struct{ all, own int64 }

// changed reports whether an execution may look other than it did. Looking costs more: arguments and result are read whole.
func (w *Web) changed(ctx context.Context, key string, at marks) (now marks, changed bool, err error) {
	now = at
	if now.all, err = w.Store.LastChange(ctx); err != nil || now.all == at.all {
		return at, false, err
	}
	rows, err := readable(w.Store.Pauses(ctx, store.PauseFilter{Key: key, Limit: store.MaxLimit}))
	if err != nil {
		return at, false, err
	}
	now.own = 0
	for _, row := range rows {
		now.own = max(now.own, row.Change)
	}
	return now, now.own != at.own || len(rows) == 0, nil
}
