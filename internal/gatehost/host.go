package gatehost

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

const serverName = "holdfast"

// Params are what a Host is made of. All are needed.
type Params struct {
	Engine  executions.Engine
	Catalog catalog.Catalog
	Policy  func(ctx context.Context) executions.Policy
	// AEAD seals what clients of the stateless protocol carry from one request to the next.
	AEAD tink.AEAD
	Log  *slog.Logger
}

// Host serves the gateway's tools.
type Host struct {
	Params
	version string
	schemas *mcp.SchemaCache
}

var _ mcpserver.Host = (*Host)(nil)

// New makes a host.
func New(p Params) *Host {
	return &Host{Params: p, version: buildinfo.Version(), schemas: mcp.NewSchemaCache()}
}

// ResolveMeta implements [mcpserver.Host]: nobody without an identity is served.
func (h *Host) ResolveMeta(_ context.Context, meta mcpserver.Meta) (mcpserver.Meta, error) {
	if meta.Principal.Identity.Account == "" || meta.Principal.Identity.Organisation == "" {
		return meta, fmt.Errorf("resolve session: %s has no account or organisation", meta.Principal.ID)
	}
	if meta.Resource == "" {
		meta.Resource = "default"
	}
	return meta, nil
}

// BuildServer implements [mcpserver.Host].
func (h *Host) BuildServer(_ context.Context, meta mcpserver.Meta) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: serverName, Title: "Holdfast", Version: h.version}, &mcp.ServerOptions{
		Instructions: instructions,
		Logger:       h.Log,
		// The tools are the same for the life of a server; what they reach is searched for.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SchemaCache:  h.schemas,
	})
	s := &serving{Host: h, meta: meta}
	for _, each := range s.tools() {
		server.AddTool(each.tool, s.guarded(each.tool.Name, each.handle))
	}
	return server, nil
}

// serving is a host for one server.
type serving struct {
	*Host
	meta mcpserver.Meta
}

// caller is who sends this request, which may be another principal than the one that made the session, but never of another identity.
func (s *serving) caller(req *mcp.CallToolRequest) executions.Caller {
	who := mcpserver.PrincipalOf(req.Extra)
	if who.ID == "" {
		who = s.meta.Principal
	}
	return callerOf(who, s.meta)
}

func callerOf(who auth.Principal, meta mcpserver.Meta) executions.Caller {
	return executions.Caller{
		Identity: who.Identity, Principal: who.ID, Name: who.Name, Session: meta.Session, Mode: meta.Mode, Resource: meta.Resource,
		Client: meta.Client, Origin: meta.Origin, Via: "mcp",
	}
}
