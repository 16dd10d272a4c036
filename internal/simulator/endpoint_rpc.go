package simulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
)

// initialize opens a session. An unknown protocol version is answered with our latest one, as the protocol asks.
func (e *Endpoint) initialize(w http.ResponseWriter, script EndpointOptions, request *rpcRequest) {
	var params struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(request.Params, &params) != nil || request.ID == nil {
		writeRPCError(w, http.StatusBadRequest, request.ID, rpcError{-32602, "Invalid params"})
		return
	}
	version := params.ProtocolVersion
	if !slices.Contains(protocolVersions, version) {
		version = protocolVersions[len(protocolVersions)-1]
	}
	capabilities := map[string]any{"tools": map[string]any{"listChanged": script.SSE}}
	if len(script.Resources) > 0 {
		capabilities["resources"] = map[string]any{}
	}
	w.Header().Set(sessionHeader, e.sessions.create())
	writeRPC(w, script.SSE, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": map[string]any{
		"protocolVersion": version,
		"capabilities":    capabilities,
		"serverInfo":      map[string]string{"name": "holdfast-scripted-endpoint", "version": "1.0.0"},
	}})
}

// answer computes the result of a request inside a session.
func answer(script EndpointOptions, request *rpcRequest) (any, *rpcError) {
	switch request.Method {
	case "ping":
		return struct{}{}, nil
	case "tools/list":
		return listTools(script, request.Params)
	case "tools/call":
		return callTool(script, request.Params)
	case "resources/list":
		if len(script.Resources) > 0 {
			return listResources(script), nil
		}
	}
	return nil, &rpcError{-32601, "Method not found"}
}

func listTools(script EndpointOptions, raw json.RawMessage) (any, *rpcError) {
	var params struct {
		Cursor string `json:"cursor"`
	}
	if len(raw) > 0 && json.Unmarshal(raw, &params) != nil {
		return nil, &rpcError{-32602, "Invalid params"}
	}
	from := 0
	if params.Cursor != "" {
		parsed, err := strconv.Atoi(params.Cursor)
		if err != nil || parsed < 0 || parsed > len(script.Tools) {
			return nil, &rpcError{-32602, "Invalid cursor"}
		}
		from = parsed
	}
	to := len(script.Tools)
	if script.PageSize > 0 {
		to = min(to, from+script.PageSize)
	}
	tools := make([]map[string]any, 0, to-from)
	for _, name := range script.Tools[from:to] {
		tools = append(tools, map[string]any{
			"name": name, "description": "scripted tool " + name, "inputSchema": map[string]string{"type": "object"},
		})
	}
	result := map[string]any{"tools": tools}
	if to < len(script.Tools) {
		result["nextCursor"] = strconv.Itoa(to)
	}
	return result, nil
}

func callTool(script EndpointOptions, raw json.RawMessage) (any, *rpcError) {
	var params struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &params) != nil || !slices.Contains(script.Tools, params.Name) {
		return nil, &rpcError{-32602, "Unknown tool: " + params.Name}
	}
	content := []map[string]string{{"type": "text", "text": "called " + params.Name}}
	return map[string]any{"content": content}, nil
}

func listResources(script EndpointOptions) any {
	resources := make([]map[string]string, 0, len(script.Resources))
	for _, uri := range script.Resources {
		resources = append(resources, map[string]string{"uri": uri, "name": uri})
	}
	return map[string]any{"resources": resources}
}
