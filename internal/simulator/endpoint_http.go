package simulator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	bodyLimit     = 4 << 20
)

// protocolVersions are the revisions that the endpoint speaks, latest last.
var protocolVersions = []string{"2025-03-26", "2025-06-18", "2025-11-25"}

// rpcRequest is a JSON-RPC message as the endpoint receives it.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Endpoint) serveHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.lastHeader = r.Header.Clone()
	e.mu.Unlock()

	if !localOrigin(r.Header.Get("Origin")) {
		writeJSON(w, http.StatusForbidden, map[string]string{"error": "origin not allowed"})
		return
	}
	if r.URL.Path != "/mcp" && r.URL.Path != agentPath { // the engine looks for OAuth metadata: unknown to us, whatever the token
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		writeRPCError(w, http.StatusRequestEntityTooLarge, nil, rpcError{-32600, "Request too large"})
		return
	}
	request, key := readRPC(r.Method, body)
	e.counter.add(key, "")
	if fault, ok := e.faults.take(key, AnyRequest); ok && fault.serve(w, r) {
		return
	}
	script := e.current()
	if !script.authorized(r.Header.Get("Authorization")) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "unauthorized"})
		return
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r, script, request)
	case http.MethodGet:
		e.stream(w, r, script)
	case http.MethodDelete:
		e.delete(w, r, script)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// authorized looks at an Authorization header.
func (o EndpointOptions) authorized(header string) bool {
	if o.Authorize == nil {
		return o.Token == "" || header == "Bearer "+o.Token
	}
	token, isBearer := strings.CutPrefix(header, "Bearer ")
	return isBearer && o.Authorize(token)
}

// readRPC parses a POST's body and returns the key by which the request is counted and faulted.
func readRPC(httpMethod string, body []byte) (*rpcRequest, string) {
	if httpMethod != http.MethodPost {
		return nil, httpMethod
	}
	var request rpcRequest
	if json.Unmarshal(body, &request) != nil || request.Version != "2.0" {
		return nil, "invalid"
	}
	if request.Method == "" {
		return &request, "response"
	}
	return &request, request.Method
}

func (e *Endpoint) post(w http.ResponseWriter, r *http.Request, script EndpointOptions, request *rpcRequest) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	switch {
	case !strings.Contains(accept, "application/json") || !strings.Contains(accept, "text/event-stream"):
		writeRPCError(w, http.StatusNotAcceptable, nil,
			rpcError{-32000, "Not Acceptable: Client must accept both application/json and text/event-stream"})
		return
	case request == nil:
		writeRPCError(w, http.StatusBadRequest, nil, rpcError{-32700, "Parse error"})
		return
	case request.Method == "initialize":
		e.initialize(w, script, request)
		return
	}
	if !e.admit(w, r, script) {
		return
	}
	if request.ID == nil || request.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, failure := answer(script, request)
	if failure != nil {
		writeRPC(w, script.SSE, map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": failure})
		return
	}
	writeRPC(w, script.SSE, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": result})
}

// admit checks the protocol version and the session, in that order, and answers what it refuses.
func (e *Endpoint) admit(w http.ResponseWriter, r *http.Request, script EndpointOptions) bool {
	if version := r.Header.Get(versionHeader); version != "" && !slices.Contains(protocolVersions, version) {
		writeRPCError(w, http.StatusBadRequest, nil,
			rpcError{-32000, fmt.Sprintf("Bad Request: Unsupported protocol version (supported versions: %s)",
				strings.Join(protocolVersions, ", "))})
		return false
	}
	id := r.Header.Get(sessionHeader)
	switch {
	case id == "":
		writeRPCError(w, http.StatusBadRequest, nil, rpcError{-32000, "Bad Request: No valid session ID provided"})
	case e.sessions.known(id):
		return true
	case script.LostStatus == http.StatusNotFound:
		writeRPCError(w, http.StatusNotFound, nil, rpcError{-32001, "Session not found"})
	default:
		writeRPCError(w, script.LostStatus, nil, rpcError{-32000, "Bad Request: No valid session ID provided"})
	}
	return false
}

// stream holds the standing GET stream of a session.
func (e *Endpoint) stream(w http.ResponseWriter, r *http.Request, script EndpointOptions) {
	if !script.SSE {
		w.Header().Set("Allow", "POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if !e.admit(w, r, script) {
		return
	}
	messages, ended, leave, ok := e.sessions.subscribe(r.Header.Get(sessionHeader))
	if !ok { // forgotten since admit looked
		w.WriteHeader(script.LostStatus)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case <-ended:
			return
		case message := <-messages:
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", message) // a caller that left ends the context
			flush(w)
		}
	}
}

func (e *Endpoint) delete(w http.ResponseWriter, r *http.Request, script EndpointOptions) {
	if !e.admit(w, r, script) {
		return
	}
	e.sessions.end(r.Header.Get(sessionHeader))
	w.WriteHeader(http.StatusOK)
}

func localOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	parsed, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func writeRPC(w http.ResponseWriter, sse bool, message any) {
	if !sse {
		writeJSON(w, http.StatusOK, message)
		return
	}
	encoded, err := json.Marshal(message)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", encoded) // the caller may have left
}

func writeRPCError(w http.ResponseWriter, status int, id json.RawMessage, failure rpcError) {
	writeJSON(w, status, map[string]any{"jsonrpc": "2.0", "id": id, "error": failure})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // the caller may have left
}
