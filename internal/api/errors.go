package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Code names one kind of error. Codes are part of the wire contract.
type Code string

// Every code that this API answers with.
const (
	CodeUnauthorized Code = "unauthorized"
	CodeForbidden    Code = "forbidden"
	CodeReadOnly     Code = "read_only"

	CodeInvalidJSON         Code = "invalid_json"
	CodeInvalidPayload      Code = "invalid_payload"
	CodeInvalidName         Code = "invalid_mcp_name"
	CodeWorkspaceIDMismatch Code = "workspace_id_mismatch"
	CodeTooLarge            Code = "payload_too_large"

	CodeRouteNotFound      Code = "route_not_found"
	CodeMethodNotAllowed   Code = "method_not_allowed"
	CodeWorkspaceNotFound  Code = "workspace_not_found"
	CodeConnectionNotFound Code = "connection_not_found"
	CodeMCPNotFound        Code = "mcp_not_found"
	CodeTokenNotFound      Code = "token_not_found"
	CodeRequestNotFound    Code = "request_not_found"

	CodeKeyReused          Code = "idempotency_key_reused"
	CodeDirectoryAmbiguous Code = "workspace_directory_ambiguous"
	CodeReservedName       Code = "reserved_mcp_name"
	CodeIntentChanged      Code = "intent_changed"

	CodeTemporalUnavailable Code = "temporal_unavailable"
	CodeStoreUnavailable    Code = "store_unavailable"
	CodeProviderUnavailable Code = "identity_provider_unavailable"
	CodeNoWorker            Code = "no_worker"
	CodeBusy                Code = "busy"
	CodeStopping            Code = "stopping"

	CodeEngineUnreachable Code = "opencode_engine_unreachable"
	CodeEngineUnset       Code = "opencode_unconfigured"
	CodeReloadTimeout     Code = "opencode_reload_timeout"
	CodeReloadFailed      Code = "opencode_reload_failed"

	CodeExecutionNotFound Code = "execution_not_found"
	CodeExecutionExpired  Code = "execution_expired"
	CodeExecutionSettled  Code = "execution_settled"
	CodeAlreadyDecided    Code = "already_decided"
	CodeSessionNotFound   Code = "session_not_found"

	CodeToolNotFound     Code = "tool_not_found"
	CodeToolDenied       Code = "tool_denied"
	CodeInvalidArguments Code = "invalid_tool_arguments"

	CodeUpstreamUnreachable  Code = "upstream_unreachable"
	CodeUpstreamTimeout      Code = "upstream_timeout"
	CodeUpstreamRefused      Code = "upstream_refused"
	CodeUpstreamUnauthorized Code = "upstream_unauthorized"
	CodeUpstreamProtocol     Code = "upstream_protocol"

	CodeUnreadable  Code = "stored_row_unreadable"
	CodeInterrupted Code = "request_interrupted"
	CodeInternal    Code = "internal_error"
)

// kind is what all errors of a code have in common.
type kind struct {
	status     int
	message    string
	retryAfter time.Duration // 0: trying again by itself does not help
}

// kinds is the list of all errors. Messages say what to do.
var kinds = map[Code]kind{
	CodeUnauthorized: {status: http.StatusUnauthorized, message: "Send Authorization: Bearer with a token made by holdfast token create."},
	CodeForbidden:    {status: http.StatusForbidden, message: "This is not allowed."},
	CodeReadOnly:     {status: http.StatusForbidden, message: "This gateway is read-only: ask one that is not."},

	CodeInvalidJSON:         {status: http.StatusBadRequest, message: "The body is not valid JSON."},
	CodeInvalidPayload:      {status: http.StatusBadRequest, message: "The request is not as this route takes it."},
	CodeInvalidName:         {status: http.StatusBadRequest, message: "The name in the body must be that of the path, and printable."},
	CodeWorkspaceIDMismatch: {status: http.StatusBadRequest, message: "The workspace in the body must be that of the path."},
	CodeTooLarge:            {status: http.StatusRequestEntityTooLarge, message: "The body is larger than 1 MiB."},

	CodeRouteNotFound:      {status: http.StatusNotFound, message: "There is no such route: see /openapi.json."},
	CodeMethodNotAllowed:   {status: http.StatusMethodNotAllowed, message: "The route does not take this method: see the Allow header."},
	CodeWorkspaceNotFound:  {status: http.StatusNotFound, message: "There is no such workspace: GET /api/v1/workspaces lists those there are."},
	CodeConnectionNotFound: {status: http.StatusNotFound, message: "There is no such connection: GET /api/v1/connections lists those there are."},
	CodeMCPNotFound:        {status: http.StatusNotFound, message: "The workspace has no MCP server of this name: GET /workspace/{id}/mcp lists those it has."},
	CodeTokenNotFound:      {status: http.StatusNotFound, message: "There is no such token: GET /api/v1/tokens lists those there are."},
	CodeRequestNotFound:    {status: http.StatusNotFound, message: "There is no such request of yours; results are kept for 24 hours."},

	CodeKeyReused:          {status: http.StatusConflict, message: "This Idempotency-Key was used for another request: take a new one."},
	CodeDirectoryAmbiguous: {status: http.StatusConflict, message: "The workspace has several directories: choose one with ?directory=."},
	CodeReservedName:       {status: http.StatusConflict, message: "Names that begin with openwork-connect- or openwork-direct- are reserved."},
	CodeIntentChanged:      {status: http.StatusConflict, message: "Somebody else changed what is wanted meanwhile: look again and decide."},

	CodeTemporalUnavailable: {status: http.StatusServiceUnavailable, message: "Temporal cannot be reached.", retryAfter: 2 * time.Second},
	CodeStoreUnavailable:    {status: http.StatusServiceUnavailable, message: "The store cannot be used.", retryAfter: 2 * time.Second},
	CodeProviderUnavailable: {status: http.StatusServiceUnavailable, message: "The identity provider cannot be reached.", retryAfter: 2 * time.Second},
	CodeNoWorker:            {status: http.StatusServiceUnavailable, message: "No worker answers for this connection: start one.", retryAfter: 5 * time.Second},
	CodeBusy:                {status: http.StatusServiceUnavailable, message: "Too much is under way here: send the request again.", retryAfter: time.Second},
	CodeStopping:            {status: http.StatusServiceUnavailable, message: "This gateway stops: send the request again.", retryAfter: time.Second},

	CodeEngineUnreachable: {status: http.StatusServiceUnavailable, message: "The engine cannot be reached.", retryAfter: 5 * time.Second},
	CodeEngineUnset:       {status: http.StatusConflict, message: "The workspace has no engine: give it one with PUT /api/v1/workspaces/{id}."},
	CodeReloadTimeout:     {status: http.StatusGatewayTimeout, message: "The engine did not end its instance in time.", retryAfter: 5 * time.Second},
	CodeReloadFailed:      {status: http.StatusBadGateway, message: "The engine refused to end its instance."},

	CodeExecutionNotFound: {status: http.StatusNotFound, message: "There is no such execution or approval of yours, or its outcome is not kept any longer: GET /api/v1/executions lists those there are."},
	CodeExecutionExpired:  {status: http.StatusConflict, message: "Nobody decided in time: make the call again."},
	CodeExecutionSettled:  {status: http.StatusConflict, message: "The execution ended before this was decided: GET /api/v1/executions/{id} tells how."},
	CodeAlreadyDecided:    {status: http.StatusConflict, message: "Somebody has decided otherwise before, and that counts."},
	CodeSessionNotFound:   {status: http.StatusNotFound, message: "There is no such MCP session of yours: GET /api/v1/mcp-sessions lists those there are."},

	CodeToolNotFound:     {status: http.StatusNotFound, message: "There is no such tool: GET /api/v1/tools lists those there are."},
	CodeToolDenied:       {status: http.StatusForbidden, message: "A rule refuses this call; nothing was done."},
	CodeInvalidArguments: {status: http.StatusUnprocessableEntity, message: "The arguments do not fit the tool's schema; nothing was done."},

	CodeUpstreamUnreachable:  {status: http.StatusBadGateway, message: "The tool's source cannot be reached."},
	CodeUpstreamTimeout:      {status: http.StatusGatewayTimeout, message: "The tool's source did not answer in time."},
	CodeUpstreamRefused:      {status: http.StatusBadGateway, message: "The tool's source refused the call."},
	CodeUpstreamUnauthorized: {status: http.StatusBadGateway, message: "The tool's source refuses our token: renew it."},
	CodeUpstreamProtocol:     {status: http.StatusBadGateway, message: "The tool's source does not speak the protocol as it should."},

	CodeUnreadable:  {status: http.StatusInternalServerError, message: "What is stored cannot be read: apply it anew, or restore database and keysets from one backup."},
	CodeInterrupted: {status: http.StatusServiceUnavailable, message: "The gateway that carried this out ended before it had the result: send the request again under the same Idempotency-Key.", retryAfter: time.Second},
	CodeInternal:    {status: http.StatusInternalServerError, message: "Something went wrong here; the log has it under the request's id."},
}

// Codes lists every code in order.
func Codes() []Code { return slices.Sorted(maps.Keys(kinds)) }

// Table is a markdown table of all codes.
func Table() string {
	var table strings.Builder
	table.WriteString("| code | status | what it says |\n| --- | --- | --- |\n")
	for _, code := range Codes() {
		fmt.Fprintf(&table, "| `%s` | %d | %s |\n", code, code.Status(), kinds[code].message)
	}
	return table.String()
}

// Status is the HTTP status of a code.
func (c Code) Status() int { return kinds[c].status }

// Error is an answer that is none. Its message and details are for the caller: they hold no secret and nothing of the inside.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`

	// cause is for the log only.
	cause error
}

// Error is the code, the message and, for the log, the cause.
func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.cause }

func (e *Error) status() int { return e.Code.Status() }

// retryAfter is when sending again may help; 0: not by itself.
func (e *Error) retryAfter() time.Duration { return kinds[e.Code].retryAfter }

// fail makes the error of a code with its own message.
func fail(code Code) *Error { return &Error{Code: code, Message: kinds[code].message} }

// failf makes the error of a code with a message for this case.
func failf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) because(cause error) *Error {
	e.cause = cause
	return e
}

func (e *Error) with(name string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
	return e
}
