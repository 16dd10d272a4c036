package catalog

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// childTransport is the way to a child process. Like [wire] it notes in a request's attempt what happens to it.
type childTransport struct{ mcp.Transport }

// Connect implements [mcp.Transport].
func (t childTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &childConnection{Connection: inner, waiting: map[jsonrpc.ID]*attempt{}}, nil
}

type childConnection struct {
	mcp.Connection

	mu      sync.Mutex
	waiting map[jsonrpc.ID]*attempt
}

// Write implements [mcp.Connection].
func (c *childConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	request, isRequest := message.(*jsonrpc.Request)
	if a := attemptOf(ctx); a != nil && isRequest && request.IsCall() {
		c.mu.Lock()
		c.waiting[request.ID] = a
		c.mu.Unlock()
		a.markSent()
		context.AfterFunc(ctx, func() { c.take(request.ID) })
	}
	return c.Connection.Write(ctx, message)
}

// Read implements [mcp.Connection].
func (c *childConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if response, isResponse := message.(*jsonrpc.Response); isResponse && err == nil {
		if a := c.take(response.ID); a != nil && response.Error == nil {
			a.setResult(json.RawMessage(response.Result))
		}
	}
	return message, err
}

func (c *childConnection) take(id jsonrpc.ID) *attempt {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.waiting[id]
	delete(c.waiting, id)
	return a
}
