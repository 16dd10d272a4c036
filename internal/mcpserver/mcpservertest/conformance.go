package mcpservertest

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
)

// Conformance is a host for the official conformance suite: it has the tools, resources and prompts that the suite's scenarios for
// servers ask for.
type Conformance struct {
	// Slow is how long lists of tools take, and the tool that closes its stream. What takes longer than 250 ms is answered with a
	// stream, so that the checks of streams have one.
	Slow time.Duration
}

// ResolveMeta completes nothing.
func (Conformance) ResolveMeta(_ context.Context, meta mcpserver.Meta) (mcpserver.Meta, error) {
	return meta, nil
}

// BuildServer makes a server with all that the suite asks for.
func (c Conformance) BuildServer(context.Context, mcpserver.Meta) (*mcp.Server, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "holdfast-conformance", Version: "1"}, &mcp.ServerOptions{
		SchemaCache: schemas,
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		// The SDK keeps who is subscribed.
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				rest(ctx, c.Slow)
			}
			return next(ctx, method, req)
		}
	})
	c.addTools(server)
	addQuestions(server)
	addResources(server)
	addPrompts(server)
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
