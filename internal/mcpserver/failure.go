package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Codes of JSON-RPC errors that the transport answers with.
const (
	codeTransport = -32000
	codeSession   = -32001
	codeForbidden = -32003
	// codeLost says that a request was lost with the replica that worked on it.
	codeLost = -32010
)

// retryAfter is how long a client waits before it repeats what could not be served.
const retryAfter = 2 * time.Second

// failure is an answer of the transport. Its status tells a client what to do: 503 is for another try with the same session, 404 for
// another session.
type failure struct {
	status  int
	code    int
	message string
	data    any   // what a program has to know beside the code; nil: nothing
	cause   error // for the log
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error { return f.cause }

func refuse(status, code int, message string) *failure {
	return &failure{status: status, code: code, message: message}
}

var (
	errStopping   = &failure{status: http.StatusServiceUnavailable, code: codeSession, message: "The gateway is stopping: send the request again."}
	errFull       = &failure{status: http.StatusServiceUnavailable, code: codeSession, message: "The gateway holds as many sessions as it can: try again."}
	errTerminated = &failure{status: http.StatusNotFound, code: codeSession, message: "Session timed out, please reconnect"}
	errNoSession  = &failure{status: http.StatusNotFound, code: codeSession, message: "Session not found"}
	errBatch      = &failure{status: http.StatusBadRequest, code: jsonrpc.CodeInvalidRequest, message: "Invalid Request: this protocol version has no batches"}
	errAsleep     = &failure{status: http.StatusServiceUnavailable, code: codeSession, message: "The session was put to sleep: send the request again."}
)

// asFailure turns what went wrong into an answer. What nobody expected is told without its cause.
func asFailure(err error) *failure {
	var (
		known       *failure
		forbidden   *auth.ForbiddenError
		unavailable *auth.UnavailableError
		corrupt     *store.CorruptRowError
		down        *storeError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &forbidden):
		return &failure{status: http.StatusForbidden, code: codeSession, message: forbidden.Message, cause: err}
	case errors.As(err, &unavailable):
		return &failure{status: http.StatusServiceUnavailable, code: codeSession, message: "Temporarily unavailable: " + unavailable.Error(), cause: err}
	case errors.As(err, &corrupt):
	case errors.As(err, &down), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &failure{status: http.StatusServiceUnavailable, code: codeSession, message: "Temporarily unavailable: try again", cause: err}
	}
	return &failure{status: http.StatusInternalServerError, code: jsonrpc.CodeInternalError, message: "Internal server error", cause: err}
}

// storeError says that the store, or the service behind a session, did not answer.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// wireError is the body of every answer of the transport that is an error.
type wireError struct {
	Version string `json:"jsonrpc"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	} `json:"error"`
	ID any `json:"id"`
}

// body is a failure as clients read it.
func (f *failure) body() ([]byte, error) {
	body := wireError{Version: "2.0"}
	body.Error.Code, body.Error.Message, body.Error.Data = f.code, f.message, f.data
	return json.Marshal(body)
}

// fail answers with an error, and logs what is the gateway's own fault.
func (e *Endpoint) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := asFailure(err)
	if f.status >= http.StatusInternalServerError && f.cause != nil {
		e.Log.ErrorContext(r.Context(), "MCP request failed", "status", f.status, "method", r.Method, "error", f.cause)
	}
	raw, encoding := f.body()
	if encoding != nil {
		http.Error(w, "the error cannot be written", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.status == http.StatusServiceUnavailable {
		h.Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(raw) // the client may have gone
}
