package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Meta is for whom and how a server is built.
type Meta struct {
	Session   string // empty: stateless
	Principal auth.Principal
	Mode      approval.Mode
	Resource  string
	Origin    string // scheme and host under which the client reached the gateway
	Client    string // name and version of the MCP client
	Protocol  string
}

// Host is what the endpoint serves. Both are asked once for each runtime that is built: at initialize and at each wake-up. For
// the stateless protocol the first is asked for each request, and the second for a sender's requests of a few seconds.
type Host interface {
	// ResolveMeta completes what the endpoint knows, or refuses.
	ResolveMeta(ctx context.Context, meta Meta) (Meta, error)
	// BuildServer makes the server. It is closed with the runtime.
	BuildServer(ctx context.Context, meta Meta) (*mcp.Server, error)
}

const (
	extraPrincipal = "holdfast/principal"
	extraRequest   = "holdfast/request"
)

// PrincipalOf is who sends a request, which may be another principal of the session's identity than the one that made it.
func PrincipalOf(extra *mcp.RequestExtra) auth.Principal {
	if extra == nil || extra.TokenInfo == nil {
		return auth.Principal{}
	}
	p, _ := extra.TokenInfo.Extra[extraPrincipal].(auth.Principal)
	return p
}

// RequestName names a request for good: the same when another replica takes it over from one that died. Empty where there is none.
func RequestName(extra *mcp.RequestExtra) string {
	if extra == nil || extra.TokenInfo == nil {
		return ""
	}
	name, _ := extra.TokenInfo.Extra[extraRequest].(string)
	return name
}
