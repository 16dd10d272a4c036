package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// MetaKey is the entry of a call's _meta that holds its idempotency key.
	MetaKey = "holdfast/idempotencyKey"
	// HeaderKey is the header that holds it, too.
	HeaderKey = "Idempotency-Key"

	defaultAddress = "127.0.0.1:0"
	headerLimit    = 10 * time.Second
	bodyLimit      = 64 << 20
	stopLimit      = 5 * time.Second
)

// Options say how a server behaves. The zero value is a stateful server on a free port of loopback.
type Options struct {
	// Address is where it listens; empty: a free port of loopback.
	Address string
	// Stateless makes it speak the protocol of 2026-07-28, in which tools that ask answer with what they need.
	Stateless bool
	// JSON answers calls as plain JSON; then tools cannot ask.
	JSON bool
	// HonoursKey makes put happen once for an idempotency key.
	HonoursKey bool
	// Takes is how long the next effect takes: half of that before it and half after it, whether or not its caller is still there. It is
	// called from any goroutine. nil: effects take no time.
	Takes func() time.Duration
	// Token is what a request has to bear; empty: nothing.
	Token string
}

// Server is a running server. All of its methods may be called from any goroutine.
type Server struct {
	options  Options
	listener net.Listener
	http     *http.Server
	mcp      *mcp.Server
	handler  *mcp.StreamableHTTPHandler
	done     chan struct{}
	// ending is over when the server closes: questions that nobody answers would keep their sessions for ever.
	ending context.Context //nolint:containedctx // it is the server's own life
	end    context.CancelFunc

	mu        sync.Mutex
	counts    Counts
	released  map[string]chan struct{}
	intercept Intercept
}

// Intercept may answer a request itself. Method is that of the JSON-RPC message, or of HTTP where there is none. It reports whether
// the request is answered.
type Intercept func(method string, w http.ResponseWriter, r *http.Request) bool

// Start begins to serve.
func Start(options Options) (*Server, error) {
	address := options.Address
	if address == "" {
		address = defaultAddress
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for upstream: %w", err)
	}
	s := &Server{
		options: options, listener: listener, done: make(chan struct{}),
		counts: newCounts(), released: map[string]chan struct{}{},
	}
	s.ending, s.end = context.WithCancel(context.Background())
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	s.addTools()
	s.handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless: options.Stateless, JSONResponse: options.JSON, MaxRequestBodyBytes: bodyLimit,
	})
	s.http = &http.Server{Handler: s.routes(), ReadHeaderTimeout: headerLimit}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Base is the server's address, as a URL without path.
func (s *Server) Base() string { return "http://" + s.listener.Addr().String() }

// URL is that of the MCP endpoint.
func (s *Server) URL() string { return s.Base() + "/mcp" }

// Close ends the server at once, and every call under way with it.
func (s *Server) Close() {
	s.releaseAll()
	s.end()
	_ = s.http.Close()
	s.Forget()
	select {
	case <-s.done:
	case <-time.After(stopLimit):
	}
}

// Forget drops every session, as a restarted server does: requests under their ids are answered with 404.
func (s *Server) Forget() {
	for session := range s.mcp.Sessions() {
		_ = session.Close()
	}
}

// Intercept lets f answer requests from now on; nil ends that.
func (s *Server) Intercept(f Intercept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// AddTool adds a tool that answers with its own name, and tells those who listen.
func (s *Server) AddTool(name string) {
	s.mcp.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text(name), nil })
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.serveMCP)
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Counts())
	})
	mux.HandleFunc("POST /release/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.Release(r.PathValue("name"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /forget", func(w http.ResponseWriter, _ *http.Request) {
		s.Forget()
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	if s.options.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.options.Token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	intercept := s.intercept
	s.mu.Unlock()
	if intercept != nil {
		method, err := messageMethod(r)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if intercept(method, w, r) {
			return
		}
	}
	s.handler.ServeHTTP(w, r)
}

// messageMethod reads what a request is, and leaves it as it was.
func messageMethod(r *http.Request) (string, error) {
	if r.Method != http.MethodPost {
		return r.Method, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	if err != nil {
		return "", fmt.Errorf("read request: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var message struct {
		Method string `json:"method"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return "", errors.New("read request: not JSON")
	}
	return message.Method, nil
}

// Cut ends the connection of a request without an answer. It is for use by an [Intercept].
func Cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// keyOf is the idempotency key of a call: the one in its _meta, else its header's.
func keyOf(r *mcp.CallToolRequest) string {
	if key, given := r.Params.Meta[MetaKey].(string); given {
		return key
	}
	if r.Extra != nil {
		return strings.TrimSpace(r.Extra.Header.Get(HeaderKey))
	}
	return ""
}
