package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

const (
	// serverLife is how long a server of the stateless protocol serves those for whom it was built: what its tools say of themselves may
	// be as old as that.
	serverLife = 5 * time.Second
	maxServers = 256
)

// modernServers keeps the servers of the stateless protocol for a moment: to build one takes longer than to call a tool, and whoever
// makes one request mostly makes more.
type modernServers struct {
	mu   sync.Mutex
	made map[modernFor]modernServer
}

// modernFor is whose a server is: nobody else is served by it.
type modernFor struct {
	meta Meta
	who  auth.Principal
}

type modernServer struct {
	server *mcp.Server
	until  time.Time
}

func (m *modernServers) find(whose modernFor, now time.Time) *mcp.Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if found, ok := m.made[whose]; ok && now.Before(found.until) {
		return found.server
	}
	return nil
}

func (m *modernServers) keep(whose modernFor, server *mcp.Server, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil || len(m.made) >= maxServers {
		m.made = map[modernFor]modernServer{}
	}
	m.made[whose] = modernServer{server, now.Add(serverLife)}
}

// modernServer is the server for a request: of its sender alone.
func (e *Endpoint) modernServer(ctx context.Context, meta Meta, who auth.Principal) (*mcp.Server, error) {
	now, whose := e.Now(), modernFor{meta, who}
	if found := e.servers.find(whose, now); found != nil {
		return found, nil
	}
	server, err := e.Host.BuildServer(ctx, meta)
	if err != nil {
		return nil, err
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if extra := req.GetExtra(); extra != nil {
				extra.TokenInfo = tokenInfo(who)
			}
			return next(e.withCaller(ctx, who), method, req)
		}
	})
	e.servers.keep(whose, server, now)
	return server, nil
}
