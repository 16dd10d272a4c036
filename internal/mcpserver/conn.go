package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// conn is a runtime's connection as the SDK sees it: messages of all the session's requests in one order, and answers that find
// their stream by ids of ours.
type conn struct {
	rt   *runtime
	in   chan jsonrpc.Message
	done chan struct{}
	once sync.Once
}

func newConn(rt *runtime) *conn {
	return &conn{rt: rt, in: make(chan jsonrpc.Message, 16), done: make(chan struct{})}
}

// Connect makes it its own transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// Read waits for the next message.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// feed hands a message to the SDK. It reports whether the connection is open.
func (c *conn) feed(m jsonrpc.Message) bool {
	select {
	case <-c.done:
		return false
	default:
	}
	select {
	case c.in <- m:
		return true
	case <-c.done:
		return false
	}
}

// Write sends a message to the stream where it belongs. No error of it may break the connection: each is one message's.
func (c *conn) Write(ctx context.Context, m jsonrpc.Message) error {
	var err error
	switch m := m.(type) {
	case *jsonrpc.Response:
		c.rt.answer(m)
	case *jsonrpc.Request:
		err = c.rt.send(ctx, m)
	}
	if err == nil {
		return nil
	}
	return &jsonrpc.Error{Code: codeRejected, Message: err.Error()}
}

// codeRejected is how the SDK knows that one message was refused and that the connection is well.
const codeRejected = -32005

// Close ends it; the SDK then cancels what is handled.
func (c *conn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// SessionID is the session's.
func (c *conn) SessionID() string { return c.rt.id }

// cancelParams are those of notifications/cancelled.
type cancelParams struct {
	RequestID json.RawMessage `json:"requestId"`
	Reason    string          `json:"reason,omitempty"`
}
