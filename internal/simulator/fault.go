package simulator

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Always makes a fault stay until it is cleared.
const Always = -1

// Hang says how far an answer gets before it stops for ever.
type Hang string

// The ways in which an answer may hang; it ends when the caller leaves or the server is stopped.
const (
	HangNone    Hang = ""        // the answer does not hang
	HangHeaders Hang = "headers" // nothing is sent at all
	HangBody    Hang = "body"    // status, headers and the first bytes are sent
)

// Fault is one scripted deviation. Delay and Until come first; then the first of Reset, Hang, Status that is set
// replaces the normal answer. Without any of them the normal answer follows.
type Fault struct {
	Delay time.Duration   // wait before answering
	Until <-chan struct{} // wait until it is closed before answering
	Reset bool            // close the connection without an answer
	Hang  Hang            // never finish the answer

	Status      int         // answer with this HTTP status
	Body        string      // body of that answer, or its first bytes when it hangs
	ContentType string      // of that answer; empty = application/json
	Header      http.Header // further headers of that answer
}

const htmlPage = "<!doctype html><html><head><title>Bad Gateway</title></head><body>502 Bad Gateway</body></html>"

// AnswerStatus is a fault that answers with an HTTP status and an empty JSON object.
func AnswerStatus(status int) Fault { return Fault{Status: status, Body: "{}"} }

// AnswerHTML is a fault that answers with an HTML page, as proxies do.
func AnswerHTML(status int) Fault {
	return Fault{Status: status, Body: htmlPage, ContentType: "text/html; charset=utf-8"}
}

// serve plays the fault and reports whether it was the whole answer.
func (f Fault) serve(w http.ResponseWriter, r *http.Request) bool {
	if f.wait(r) != nil {
		panic(http.ErrAbortHandler) // the caller left or the server was stopped: no last word
	}
	switch {
	case f.Reset:
		reset(w)
	case f.Hang == HangHeaders:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Hang == HangBody:
		f.writeHead(w, http.StatusOK)
		flush(w)
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		f.writeHead(w, f.Status)
	default:
		return false
	}
	return true
}

func (f Fault) wait(r *http.Request) error {
	if err := pause(r.Context(), f.Delay); err != nil || f.Until == nil {
		return err
	}
	select {
	case <-f.Until:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (f Fault) writeHead(w http.ResponseWriter, status int) {
	contentType := f.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, f.Body) // the caller may have left
}

// reset ends the connection with RST, so that the caller sees a closed socket and no answer.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // best effort: a FIN serves as well
	}
	_ = conn.Close()
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush() // fails only when the caller has left
}

// faults holds the scripted faults by key: a route of the engine or a method of the endpoint.
type faults struct {
	mu    sync.Mutex
	queue map[string][]*scripted
}

type scripted struct {
	fault Fault
	left  int // Always, or requests still to be hit
}

// add queues a fault for the next n requests of key; Always keeps it until clear.
func (f *faults) add(key string, n int, fault Fault) {
	if n == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue == nil {
		f.queue = make(map[string][]*scripted)
	}
	f.queue[key] = append(f.queue[key], &scripted{fault: fault, left: n})
}

// take returns the fault for a request that goes by any of the keys, most specific first.
func (f *faults) take(keys ...string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		queue := f.queue[key]
		if len(queue) == 0 {
			continue
		}
		first := queue[0]
		if first.left > 0 {
			first.left--
			if first.left == 0 {
				f.queue[key] = queue[1:]
			}
		}
		return first.fault, true
	}
	return Fault{}, false
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = nil
}
