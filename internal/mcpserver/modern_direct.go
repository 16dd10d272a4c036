package mcpserver

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Headers by which a request of the stateless protocol repeats what its body says (SEP-2243).
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
)

// directModern answers a call of a tool of the stateless protocol past the SDK's server, which makes a session for each request. It
// reports whether it did: whatever is out of the ordinary, and so whatever is to be refused, is for the SDK's server.
func (e *Endpoint) directModern(w http.ResponseWriter, q *request, meta Meta, m *message) bool {
	host, able := e.Host.(ToolHost)
	if !able || !m.call() || m.method != methodCallTool {
		return false
	}
	params, ok := toolCall(m.params)
	if !ok || !agrees(q.Header, params) {
		return false
	}
	handle := host.Handler(meta, params.Name)
	if handle == nil {
		return false
	}
	ctx, cancel := e.untilStopped(q.Context())
	defer cancel()
	alive := newAliveWriter(w, e.Settings.Timing, true)
	defer alive.stop()
	result, err := handle(e.withCaller(ctx, q.who), &mcp.CallToolRequest{
		Params: params, Extra: &mcp.RequestExtra{TokenInfo: tokenInfo(q.who), Header: q.Header},
	})
	if q.Context().Err() != nil {
		return true // nobody reads an answer
	}
	alive.answer(modernStatus(err), encodeResponse(m.id, calledModern(result, err, host.ServerInfo()).response(jsonrpc.ID{})))
	return true
}

// agrees reports whether the headers say what the body says, and the body says what it must (SEP-2575).
func agrees(h http.Header, params *mcp.CallToolParamsRaw) bool {
	protocol, _ := params.Meta[mcp.MetaKeyProtocolVersion].(string)
	if protocol != protocolModern || h.Get(headerProtocol) != protocol || h.Get(headerMethod) != methodCallTool || h.Get(headerName) != params.Name {
		return false
	}
	if !readable[mcp.ClientCapabilities](params.Meta[mcp.MetaKeyClientCapabilities]) {
		return false
	}
	about, named := params.Meta[mcp.MetaKeyClientInfo]
	return !named || readable[mcp.Implementation](about)
}

// readable reports whether a value is an object of a type.
func readable[T any](value any) bool {
	object, is := value.(map[string]any)
	if !is || len(object) == 0 {
		return is
	}
	raw, err := json.Marshal(object)
	return err == nil && json.Unmarshal(raw, new(T)) == nil
}

// calledModern is what a handler said as the stateless protocol has it: it says whether it is complete, and who serves it.
func calledModern(result *mcp.CallToolResult, err error, server *mcp.Implementation) told {
	kind := `{"resultType":"complete",`
	if err == nil && result != nil {
		whole := *result
		whole.Meta = mcp.Meta{mcp.MetaKeyServerInfo: server}
		maps.Copy(whole.Meta, result.Meta)
		if whole.InputRequests != nil {
			kind = `{"resultType":"input_required",`
		}
		result = &whole
	}
	answer := called(result, err)
	if answer.err == nil {
		answer.result = append([]byte(kind), answer.result[1:]...) // which has content, if nothing else
	}
	return answer
}

// modernStatus is the status of an answer that is no stream (SEP-2575).
func modernStatus(err error) int {
	told := (*jsonrpc.Error)(nil)
	switch {
	case !errors.As(err, &told):
		return http.StatusOK
	case told.Code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case told.Code == jsonrpc.CodeInvalidParams, told.Code == mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// answer writes a message: plain as long as nothing was sent, and else as the stream's last event.
func (a *aliveWriter) answer(status int, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if !a.sent {
		h := a.w.Header()
		h.Set(headerType, contentTypeJSON)
		h.Set(headerCache, cacheNever)
		a.send(status)
		_ = writeAll(a.w, a.control, data) // a client that has gone asks again
		return
	}
	for _, part := range [][]byte{[]byte("event: message\ndata: "), data, []byte("\n\n")} {
		if writeAll(a.w, a.control, part) != nil {
			return
		}
	}
	_ = a.control.Flush()
}
