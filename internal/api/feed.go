package api

import (
	"context"
	"net/http"
	"time"
)

const (
	// eventWrite bounds one write of a stream: a reader that takes nothing is let go.
	eventWrite = 10 * time.Second
	// streamLimit ends a stream; the reader comes back with the id of what it has seen last.
	streamLimit = time.Hour
)

// feed is one reader's stream of events, whatever they tell of.
type feed struct {
	api     *API
	call    *call
	out     http.ResponseWriter
	control *http.ResponseController
}

// source is what a feed sends.
type source interface {
	// first reads what there is, while an error can still be an answer of its own.
	first(ctx context.Context) error
	// poll looks for what is new. That nobody answers is no end.
	poll(ctx context.Context)
	// send writes what was not sent yet, and reports whether the reader still takes it.
	send() bool
}

// stream answers a request with a stream of events, or with the error that keeps it from beginning. One that asks for the header alone
// takes no place.
func (a *API) stream(c *call, w http.ResponseWriter, title string, from func(feed) source) {
	if c.Method == http.MethodHead {
		streamHeader(w)
		return
	}
	if err := a.streams.take(c.principal.ID); err != nil {
		a.refuse(w, c.Request, asError(err))
		return
	}
	defer a.streams.give(c.principal.ID)
	f := feed{api: a, call: c, out: w, control: http.NewResponseController(w)}
	events := from(f)
	if err := events.first(c.Context()); err != nil {
		a.refuse(w, c.Request, asError(err))
		return
	}
	f.run(c.Context(), title, events)
}

// run sends until the reader goes, the gateway stops or the stream is old.
func (f *feed) run(ctx context.Context, title string, from source) {
	ctx, cancel := context.WithTimeout(ctx, streamLimit)
	defer cancel()
	stop := context.AfterFunc(f.api.serving, cancel)
	defer stop()
	streamHeader(f.out)
	poll, alive := time.NewTicker(f.api.Settings.EventPoll), time.NewTicker(f.api.Settings.KeepAlive)
	again := time.NewTicker(f.api.Settings.AskAgain)
	defer poll.Stop()
	defer alive.Stop()
	defer again.Stop()
	if !f.write(": " + title + "\n\n") {
		return
	}
	for from.send() {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			if !f.write(": alive\n\n") {
				return
			}
		case <-again.C:
			if !f.admitted() {
				return
			}
		case <-poll.C:
			from.poll(ctx)
		}
	}
}

func streamHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", eventStream+"; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// admitted reports whether the reader may still read: a token may have been revoked, or be over. A store that cannot say is waited
// out.
func (f *feed) admitted() bool {
	err := f.api.admit(f.call)
	if err == nil {
		return true
	}
	code := asError(err).Code
	return code != CodeUnauthorized && code != CodeForbidden
}

func (f *feed) write(text string) bool {
	_ = f.control.SetWriteDeadline(time.Now().Add(eventWrite))
	if _, err := f.out.Write([]byte(text)); err != nil {
		return false
	}
	return f.control.Flush() == nil
}
