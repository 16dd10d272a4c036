package simulator

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// EndpointOptions is the first script of an Endpoint; the setters change it later.
type EndpointOptions struct {
	Token string // bearer that every request must carry; empty = none asked
	// Authorize decides on each request's bearer instead of Token, such as [TokenServer.Live]; nil = Token decides.
	Authorize func(token string) bool

	Tools         []string // names listed by tools/list; nil = search_capabilities, execute_capability
	Resources     []string // URIs listed by resources/list; empty = no resources capability
	PageSize      int      // tools on one page of tools/list; 0 = all
	SSE           bool     // answer as event streams and offer the standing GET stream
	LostStatus    int      // HTTP status for an unknown session; 0 = 404, the real everything-server says 400
	ListenAddress string   // host:port; empty = any free loopback port
}

// Endpoint is a scripted MCP server over Streamable HTTP, revisions 2025-03-26 to 2025-11-25. All methods are safe for
// concurrent use.
type Endpoint struct {
	server   server
	faults   faults
	counter  counter
	sessions sessions

	mu         sync.Mutex
	script     EndpointOptions
	lastHeader http.Header
}

// NewEndpoint starts an endpoint; Close ends it.
func NewEndpoint(options EndpointOptions) (*Endpoint, error) {
	if options.Tools == nil {
		options.Tools = []string{"search_capabilities", "execute_capability"}
	}
	if options.LostStatus == 0 {
		options.LostStatus = http.StatusNotFound
	}
	if options.ListenAddress == "" {
		options.ListenAddress = "127.0.0.1:0"
	}
	e := &Endpoint{script: options}
	e.server.addr = options.ListenAddress
	e.server.handler = http.HandlerFunc(e.serveHTTP)
	if err := e.server.start(context.Background()); err != nil {
		return nil, fmt.Errorf("start endpoint: %w", err)
	}
	return e, nil
}

// URL is the MCP address, the same after Stop and Start.
func (e *Endpoint) URL() string { return "http://" + e.server.address() + "/mcp" }

// agentPath is where OpenWork Cloud has its MCP server.
const agentPath = "/mcp/agent"

// AgentURL is the same endpoint's address by the path that the openwork profile asks for.
func (e *Endpoint) AgentURL() string { return "http://" + e.server.address() + agentPath }

// Stop makes the port refuse connections; sessions are remembered, as in a network outage.
func (e *Endpoint) Stop() { e.server.stop(func() {}) }

// Start serves again on the same port.
func (e *Endpoint) Start() error {
	if err := e.server.start(context.Background()); err != nil {
		return fmt.Errorf("start endpoint: %w", err)
	}
	return nil
}

// Restart stops, forgets every session and starts on the same port, as a restarted process does.
func (e *Endpoint) Restart() error {
	e.Stop()
	e.sessions.forget()
	return e.Start()
}

// Close ends the endpoint. Closing twice is harmless.
func (e *Endpoint) Close() { e.server.stop(func() {}) }
