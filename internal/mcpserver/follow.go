package mcpserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// primingNote is what older clients are told with a priming event: their parsers take no event without data.
const primingNote = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","logger":"holdfast","data":"stream opened"}}`

// follower writes a stream's events to one client.
type follower struct {
	e        *Endpoint
	w        http.ResponseWriter
	q        *request
	control  *http.ResponseController
	session  string
	protocol string
	started  time.Time
	listens  bool // it is a GET: it ends when it is old, and when the endpoint stops
	begun    bool
	ticker   *time.Ticker
	cut      atomic.Bool // the client reads too slowly
}

func (e *Endpoint) newFollower(w http.ResponseWriter, q *request, session, protocol string) *follower {
	return &follower{e: e, w: w, q: q, control: http.NewResponseController(w), session: session, protocol: protocol, started: e.Now()}
}

// begin sends the headers of a stream.
func (f *follower) begin() {
	if f.begun {
		return
	}
	f.begun = true
	f.ticker = time.NewTicker(f.e.Settings.Timing.KeepAlive)
	h := f.w.Header()
	h.Set(headerType, contentTypeSSE)
	h.Set(headerCache, cacheNever)
	h.Set("X-Accel-Buffering", "no")
	h.Set(headerSession, f.session)
	// The server's deadlines are for requests; a stream bounds each of its writes itself.
	_ = f.control.SetReadDeadline(time.Time{})
	f.w.WriteHeader(http.StatusOK)
}

// release leaves the connection to the next request as it was.
func (f *follower) release() {
	if f.begun {
		f.ticker.Stop()
		_ = f.control.SetWriteDeadline(time.Time{})
	}
}

// follow writes what a sink holds and what comes, from after a position on, until it ends; endNone says that until came first.
func (f *follower) follow(s *sink, after *int64, until <-chan time.Time) end {
	s.onCut(func() {
		f.cut.Store(true)
		_ = f.control.SetWriteDeadline(time.Now().Add(-time.Second))
	})
	defer s.onCut(nil)
	for {
		frames, why := s.take()
		if len(frames) > 0 && f.frames(s, frames, after) != nil {
			return endGone
		}
		if why != endNone {
			return f.last(s, why)
		}
		if f.rotated() {
			return endRotated
		}
		select {
		case <-s.wake:
		case <-until:
			return endNone
		case <-f.ticker.C:
			if f.comment("keepalive") != nil {
				return endGone
			}
		case <-f.stopped():
			return endGone
		case <-f.q.Context().Done():
			return endGone
		}
	}
}

// stopped ends a listener with the endpoint: it finds another replica.
func (f *follower) stopped() <-chan struct{} {
	if f.listens {
		return f.e.draining
	}
	return nil
}

// frames writes what a sink held. What was read from the log before is left out.
func (f *follower) frames(s *sink, frames []frame, after *int64) error {
	for _, each := range frames {
		if each.seq == 0 || each.seq > *after {
			if err := f.frame(each); err != nil {
				return err
			}
			*after = max(*after, each.seq)
		}
		s.wrote(len(each.data))
	}
	return f.control.Flush()
}

// last writes what comes at the end of a stream that shall be taken up again.
func (f *follower) last(s *sink, why end) end {
	if why != endRetry {
		return why
	}
	text := "event: close\n"
	if wait := s.waits(); wait > 0 {
		text += "retry: " + strconv.FormatInt(wait.Milliseconds(), 10) + "\n"
	}
	if f.write([]byte(text+"data: \n\n")) != nil || f.control.Flush() != nil {
		return endGone
	}
	return why
}

// frame writes one event.
func (f *follower) frame(each frame) error {
	var head strings.Builder
	data := each.data
	if each.priming && f.protocol < protocolPolling {
		head.WriteString("event: mcp-priming\n")
		data = []byte(primingNote)
	}
	if !each.unstored() {
		fmt.Fprintf(&head, "id: %s\n", eventID(each.stream, each.seq))
	}
	head.WriteString("data: ")
	if err := f.write([]byte(head.String())); err != nil {
		return err
	}
	if err := f.write(data); err != nil {
		return err
	}
	return f.write([]byte("\n\n"))
}

func (f *follower) comment(text string) error {
	if err := f.write([]byte(": " + text + "\n\n")); err != nil {
		return err
	}
	return f.control.Flush()
}

// rotated ends a GET that is old enough, so that no proxy has to.
func (f *follower) rotated() bool {
	if !f.listens || f.e.Now().Sub(f.started) < f.e.Settings.Timing.MaxAge {
		return false
	}
	_ = f.comment("max-age rotation, reconnect") // a client that has gone needs none
	return true
}

func (f *follower) write(data []byte) error {
	return writeChunks(f.w, f.control, data, f.cut.Load)
}

// eventID is <stream>:<16 hexadecimal digits>.
func eventID(stream string, seq int64) string { return fmt.Sprintf("%s:%016x", stream, seq) }

func parseEventID(id string) (stream string, seq int64, ok bool) {
	stream, digits, found := strings.Cut(id, ":")
	if !found || stream == "" || len(digits) != 16 {
		return "", 0, false
	}
	seq, err := strconv.ParseInt(digits, 16, 64)
	return stream, seq, err == nil && seq >= 0
}
