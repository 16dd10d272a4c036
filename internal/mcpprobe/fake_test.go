package mcpprobe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

const (
	search  = "search_capabilities"
	execute = "execute_capability"

	methodInit   = "initialize"
	methodNotice = "notifications/initialized"
	methodList   = "tools/list"
	methodDelete = "DELETE"
)

// request is what a fake endpoint saw.
type request struct {
	Method string // the JSON-RPC method, or the HTTP method when there is no body
	ID     json.RawMessage
	Cursor string
	Header http.Header
	Host   string
}

// fake is a scripted MCP endpoint: each method has an answer, which a test may replace.
type fake struct {
	*httptest.Server

	mu      sync.Mutex
	seen    []request
	answers map[string]func(http.ResponseWriter, *http.Request, request)
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := unstarted(t)
	f.Start()
	return f
}

func unstarted(t *testing.T) *fake {
	t.Helper()
	f := &fake{answers: map[string]func(http.ResponseWriter, *http.Request, request){
		methodInit: func(w http.ResponseWriter, _ *http.Request, in request) {
			w.Header().Set("Mcp-Session-Id", "session-of-fake-1")
			writeResult(w, in, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
				"serverInfo":{"name":"fake","version":"7"}}`)
		},
		methodNotice: status(http.StatusAccepted, ""),
		methodList: func(w http.ResponseWriter, _ *http.Request, in request) {
			writeResult(w, in, tools("", search, execute))
		},
		methodDelete: status(http.StatusNoContent, ""),
	}}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) on(method string, answer func(http.ResponseWriter, *http.Request, request)) *fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[method] = answer
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID     json.RawMessage
		Method string
		Params struct{ Cursor string }
	}
	raw, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(raw, &body)
	in := request{Method: body.Method, ID: body.ID, Cursor: body.Params.Cursor, Header: r.Header.Clone(), Host: r.Host}
	if r.Method != http.MethodPost {
		in.Method = r.Method
	}
	f.mu.Lock()
	f.seen = append(f.seen, in)
	answer := f.answers[in.Method]
	f.mu.Unlock()
	if answer == nil {
		answer = status(http.StatusMethodNotAllowed, "")
	}
	answer(w, r, in)
}

func (f *fake) requests() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *fake) methods() []string {
	names := []string{}
	for _, in := range f.requests() {
		names = append(names, in.Method)
	}
	return names
}

func (f *fake) target(options ...func(*mcpprobe.Target)) mcpprobe.Target {
	t := mcpprobe.Target{
		URL:            f.URL + "/mcp/agent",
		Headers:        map[string]string{"Authorization": "Bearer " + bearer},
		RequestTimeout: 10 * time.Second,
		Expected:       []string{search, execute},
	}
	for _, option := range options {
		option(&t)
	}
	return t
}

func within(d time.Duration) func(*mcpprobe.Target) {
	return func(t *mcpprobe.Target) { t.RequestTimeout = d }
}

func canary(t *mcpprobe.Target) {
	t.KeepSession = true
	t.Canary = &mcpprobe.Session{
		ID: "session-of-earlier", ProtocolVersion: "2025-06-18", ServerName: "fake", ServerVersion: "7",
	}
}

func status(code int, body string) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func result(body string) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, _ *http.Request, in request) { writeResult(w, in, body) }
}

func rpcError(code int, message string) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, _ *http.Request, in request) {
		writeMessage(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, in.ID, code, message))
	}
}

func writeResult(w http.ResponseWriter, in request, body string) {
	writeMessage(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, body))
}

func writeMessage(w http.ResponseWriter, message string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, message)
}

// hang sends headers, half an answer, and nothing more until the client goes away.
func hang(w http.ResponseWriter, r *http.Request, in request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, in.ID)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// silent accepts the request and never answers.
func silent(_ http.ResponseWriter, r *http.Request, _ request) { <-r.Context().Done() }

// events opens an event stream and sends what next gives, until it is done or the client goes away.
func events(next func(in request, n int) (event string, more bool)) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, r *http.Request, in request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := http.NewResponseController(w)
		for n := 0; r.Context().Err() == nil; n++ {
			event, more := next(in, n)
			if _, err := io.WriteString(w, event); err != nil || out.Flush() != nil || !more {
				return
			}
		}
	}
}

func tools(cursor string, names ...string) string {
	list := make([]string, 0, len(names))
	for _, name := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
	}
	next := ""
	if cursor != "" {
		next = fmt.Sprintf(`,"nextCursor":%q`, cursor)
	}
	return `{"tools":[` + strings.Join(list, ",") + `]` + next + `}`
}
