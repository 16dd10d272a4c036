package mcpservertest

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

// Conformance is a host for the official conformance suite: it has the tools that the scenarios server-initialize, ping, tools-list,
// server-sse-polling and server-sse-multiple-streams call.
type Conformance struct {
	// Slow is how long lists take. What takes longer than 250 ms is answered with a stream, so that the checks of streams have one.
	Slow time.Duration
}

// ResolveMeta completes nothing.
func (Conformance) ResolveMeta(_ context.Context, meta mcpserver.Meta) (mcpserver.Meta, error) {
	return meta, nil
}

// BuildServer makes a server with the tools test_simple_text and test_reconnection.
func (c Conformance) BuildServer(context.Context, mcpserver.Meta) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "holdfast-conformance", Version: "1"}, &mcp.ServerOptions{SchemaCache: schemas})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				rest(ctx, c.Slow)
			}
			return next(ctx, method, req)
		}
	})
	mcp.AddTool(server, &mcp.Tool{Name: "test_simple_text", Description: "answers with a text"},
		func(context.Context, *mcp.CallToolRequest, any) (output, any, error) {
			return text("This is a simple text response for testing.")
		})
	mcp.AddTool(server, &mcp.Tool{Name: "test_reconnection", Description: "closes its stream, and answers when the client has come back"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ any) (output, any, error) {
			req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
			rest(ctx, c.Slow)
			return text("The client has come back.")
		})
	return server, nil
}

// rest lets a while pass, or less where nobody waits any more.
func rest(ctx context.Context, while time.Duration) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
