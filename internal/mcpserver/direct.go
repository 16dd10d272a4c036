package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const methodCallTool = "tools/call"

// ToolHost is a host whose tools are also called past the SDK's server, which takes each message apart several times and hands it from
// goroutine to goroutine: for a short call that is a good part of what a gateway costs.
type ToolHost interface {
	Host
	// Handler is how the server for this meta handles calls of a tool; nil: it is left to that server.
	Handler(meta Meta, tool string) mcp.ToolHandler
	// ServerInfo is what each server says of itself.
	ServerInfo() *mcp.Implementation
}

// direct begins a call of a tool. It reports whether it did: whatever is out of the ordinary is for the SDK's server.
func (rt *runtime) direct(c *call, m *message, extra *mcp.RequestExtra) bool {
	host, able := rt.e.Host.(ToolHost)
	if !able || m.method != methodCallTool || bytes.Contains(m.params, []byte(metaProtocol)) {
		return false
	}
	params, ok := toolCall(m.params)
	if !ok {
		return false
	}
	handle := host.Handler(rt.meta, params.Name)
	if handle == nil {
		return false
	}
	ctx, cancel := context.WithCancel(rt.e.withCaller(context.WithValue(rt.e.ending, callKey{}, c), PrincipalOf(extra)))
	rt.mu.Lock()
	c.cancel = cancel
	closed := rt.closed != nil
	rt.mu.Unlock()
	if closed { // and so the stream is aborted
		cancel()
		return true
	}
	rt.e.behind.run(func() {
		defer cancel()
		rt.answer(called(handle(ctx, &mcp.CallToolRequest{Session: rt.session, Params: params, Extra: extra})).response(c.id))
	})
	return true
}

// toolCall reads the parameters of a call. ok is false where others may read them otherwise.
func toolCall(raw json.RawMessage) (params *mcp.CallToolParamsRaw, ok bool) {
	params = &mcp.CallToolParamsRaw{}
	return params, json.Unmarshal(raw, params) == nil && exact(raw, "_meta", "name", "arguments", "inputResponses", "requestState")
}

// told is what a handler said, fit for a response.
type told struct {
	result json.RawMessage
	err    error
}

func called(result *mcp.CallToolResult, err error) told {
	if err != nil {
		return told{err: err}
	}
	if result == nil {
		result = &mcp.CallToolResult{}
	}
	if result.Content == nil {
		whole := *result
		whole.Content = []mcp.Content{} // not null
		result = &whole
	}
	raw, err := json.Marshal(result)
	return told{raw, err}
}

func (t told) response(id jsonrpc.ID) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Result: t.result, Error: t.err}
}
