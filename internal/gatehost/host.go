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
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

const serverName = "holdfast"

// Params are what a Host is made of. All but ReadOnly are needed.
type Params struct {
	Engine  executions.Engine
	Catalog catalog.Catalog
	Policy  func(ctx context.Context) executions.Policy
	// AEAD seals what clients of the stateless protocol carry from one request to the next.
	AEAD tink.AEAD
	// ReadOnly calls no tool and takes no decision.
	ReadOnly bool
	Log      *slog.Logger
}

// Host serves the gateway's tools.
type Host struct {
	Params
	version string
	schemas *mcp.SchemaCache
}

var _ mcpserver.ToolHost = (*Host)(nil)

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
	server := mcp.NewServer(h.ServerInfo(), &mcp.ServerOptions{
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

// ServerInfo implements [mcpserver.ToolHost].
func (h *Host) ServerInfo() *mcp.Implementation {
	return &mcp.Implementation{Name: serverName, Title: "Holdfast", Version: h.version}
}

// Handler implements [mcpserver.ToolHost]. What is searched and read is rare, and left to the server.
func (h *Host) Handler(meta mcpserver.Meta, tool string) mcp.ToolHandler {
	s := &serving{Host: h, meta: meta}
	switch tool {
	case ToolExecute:
		return s.guarded(tool, s.execute)
	case ToolResume:
		return s.guarded(tool, s.resume)
	default:
		return nil
	}
}

// serving is a host for one server.
type serving struct {
	*Host
	meta mcpserver.Meta
}

// sender is who sends this request, which may be another principal than the one that made the session, but never of another identity.
func (s *serving) sender(req *mcp.CallToolRequest) auth.Principal {
	if who := mcpserver.PrincipalOf(req.Extra); who.ID != "" {
		return who
	}
	return s.meta.Principal
}

func (s *serving) caller(req *mcp.CallToolRequest) executions.Caller {
	return callerOf(s.sender(req), s.meta)
}

// mayAct refuses whoever only reads, and everybody at a gateway that only reads; nil: neither.
func (s *serving) mayAct(req *mcp.CallToolRequest) *mcp.CallToolResult {
	role := s.sender(req).Role
	switch {
	case !role.Allows(auth.RoleCollaborator):
		return result(payload.NotAllowed(fmt.Sprintf("calling tools and deciding needs the role %s, and this token's is %s", auth.RoleCollaborator, role)))
	case s.ReadOnly:
		return result(payload.NotAllowed("this gateway is read-only: use one that is not"))
	default:
		return nil
	}
}

func callerOf(who auth.Principal, meta mcpserver.Meta) executions.Caller {
	return executions.Caller{
		Identity: who.Identity, Principal: who.ID, Name: who.Name, Session: meta.Session, Mode: meta.Mode, Resource: meta.Resource,
		Client: meta.Client, Origin: meta.Origin, Via: "mcp",
	}
}
