package mcpserver

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// aliveWriter keeps an answer of the SDK's handler alive: after a while without a byte it sends the headers of a stream and a comment,
// and then a comment for each period. The handler's headers are its own until it sends them: it sets them from several goroutines.
type aliveWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	header  http.Header
	timing  Timing
	call    bool // the answer is a stream, but for errors

	mu     sync.Mutex
	timer  *time.Timer
	sent   bool
	stream bool // what was sent are the headers of a stream
	late   bool // the handler's answer is an error that is told on the stream
	status int  // of an error that the handler tells as plain text; 0: none
	over   bool
}

func newAliveWriter(w http.ResponseWriter, timing Timing, call bool) *aliveWriter {
	a := &aliveWriter{w: w, control: http.NewResponseController(w), header: http.Header{}, timing: timing, call: call}
	if call {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.timer = time.AfterFunc(timing.Quick, a.tick)
	}
	return a
}

// stop ends it with the handler.
func (a *aliveWriter) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
		_ = a.control.SetWriteDeadline(time.Time{})
	}
}

func (a *aliveWriter) tick() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over || a.sent && !a.stream {
		return
	}
	if !a.sent {
		h := a.w.Header()
		h.Set(headerType, contentTypeSSE)
		h.Set(headerCache, cacheNever)
		a.send(http.StatusOK)
	}
	_ = a.control.SetReadDeadline(time.Time{})
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := a.w.Write([]byte(": keepalive\n\n")); err != nil || a.control.Flush() != nil {
		return
	}
	a.timer.Reset(a.timing.KeepAlive)
}

// send needs the lock.
func (a *aliveWriter) send(status int) {
	h := a.w.Header()
	a.sent, a.stream = true, h.Get(headerType) == contentTypeSSE
	if a.stream {
		h.Set("X-Accel-Buffering", "no")
	}
	a.w.WriteHeader(status)
}

// Header is what the handler sends.
func (a *aliveWriter) Header() http.Header { return a.header }

// WriteHeader sends the handler's status. An error that comes when the stream has begun is told on it.
func (a *aliveWriter) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if status >= http.StatusBadRequest && strings.HasPrefix(a.header.Get(headerType), "text/plain") {
		a.status = status
		a.header.Set(headerType, contentTypeJSON)
	}
	if a.sent {
		a.late = status != http.StatusOK
		return
	}
	maps.Copy(a.w.Header(), a.header)
	a.send(status)
}

// Write sends what the handler has to say.
func (a *aliveWriter) Write(data []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.sent {
		maps.Copy(a.w.Header(), a.header)
		a.send(http.StatusOK)
	}
	if a.call {
		_ = a.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	if !a.late && a.status == 0 {
		return a.w.Write(data)
	}
	told := data
	if a.status != 0 {
		told = plainError(a.status, data)
	}
	if a.late {
		told = slices.Concat([]byte("data: "), told, []byte("\n\n"))
	}
	if _, err := a.w.Write(told); err != nil {
		return 0, err
	}
	return len(data), nil
}

// plainError is the SDK's plain text as an error that clients of MCP read.
func plainError(status int, text []byte) []byte {
	code := jsonrpc.CodeInvalidRequest
	if status >= http.StatusInternalServerError {
		code = jsonrpc.CodeInternalError
	}
	raw, err := refuse(status, int(code), strings.TrimSpace(string(text))).body()
	if err != nil {
		return text
	}
	return raw
}

// Flush sends what is buffered.
func (a *aliveWriter) Flush() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.control.Flush() // best effort, as the SDK's own
}
