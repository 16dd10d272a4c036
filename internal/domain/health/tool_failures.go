package health

import "strconv"

// What stands between a connected server and tools that a model can call.

// EndpointUnreachable says that the MCP endpoint itself cannot be reached,
// whatever the engine claims. chain is the cause chain in its JSON form, or nil.
func EndpointUnreachable(cause string, chain any) Failure {
	return kind{
		code: CodeEndpointUnreachable, stage: StageEngineDelivery, retryable: true,
		action: "Check that the MCP server runs; the connection is repaired once it answers.",
	}.failure("The MCP endpoint cannot be reached.", chainDetails(cause, chain))
}

// ProbeUnreachable says that one direct look at the endpoint failed; alone it
// proves nothing about the engine's connection. chain is as in
// [EndpointUnreachable].
func ProbeUnreachable(cause string, chain any) Failure {
	return kind{
		code: CodeProbeUnreachable, stage: StageToolRegistration, retryable: true,
		action: "Check proxy and TLS trust of this host; the engine remains the authority.",
	}.failure("The direct probe could not reach the MCP endpoint.", chainDetails(cause, chain))
}

func chainDetails(cause string, chain any) map[string]any {
	details := errorDetails(cause)
	if chain == nil {
		return details
	}
	if details == nil {
		details = map[string]any{}
	}
	details["causes"] = chain
	return details
}

// ToolsMissing says that the endpoint does not list the expected tools, or gives
// no usable list. missing holds direct tool names.
func ToolsMissing(retryable bool, missing []string, message string) Failure {
	var details map[string]any
	if len(missing) > 0 {
		details = map[string]any{"missing": missing}
	}
	return kind{
		code: CodeToolsMissing, stage: StageToolRegistration, retryable: retryable,
		action: "Reconnect the MCP server, or ask its operator for the missing tools.",
	}.failure(message, details)
}

// Answer is what the endpoint answered to a step of a look, where that is not
// what an MCP server answers.
type Answer struct {
	HTTPStatus int
	To         string // the step: initialize, tools_list
	First      bool   // it is the step that every session begins with
}

// EndpointAnswered says that the endpoint answered with another status than 2xx,
// and not with a refusal of the credentials; it is worth a retry where that is
// said of the server, not of the request. missing is as in [ToolsMissing].
func EndpointAnswered(a Answer, missing []string) Failure {
	f := ToolsMissing(serverFault(a.HTTPStatus) || patience(a.HTTPStatus), missing, a.told())
	f.RecommendedAction = a.action()
	return f
}

func (a Answer) told() string {
	text := "the endpoint answered http " + strconv.Itoa(a.HTTPStatus) + " to " + a.To
	switch {
	case a.redirects():
		return text + ": it redirects elsewhere"
	case a.nowhere():
		return text + ": there is no mcp endpoint at this path"
	default:
		return text
	}
}

func (a Answer) action() string {
	switch {
	case a.redirects():
		return "Configure the URL that the MCP server redirects to."
	case a.nowhere():
		return "Check the path of the MCP server's URL, then apply the corrected config."
	case patience(a.HTTPStatus):
		return "Wait: the MCP server is asked again. If it stays, look at the MCP server and at what stands before it."
	default:
		return "Look at the MCP server and at what stands before it: their logs say why they answered so."
	}
}

func (a Answer) redirects() bool { return a.HTTPStatus >= 300 && a.HTTPStatus < 400 }

// nowhere: later in a session these statuses may be about the session.
func (a Answer) nowhere() bool {
	return a.First && (a.HTTPStatus == statusNotFound || a.HTTPStatus == statusMethodNotAllowed)
}

// patience: the status asks for patience, not for a change.
func patience(httpStatus int) bool {
	return httpStatus == statusTooManyRequests || httpStatus == statusRequestTimeout
}

// NotMCP says that the endpoint answers well, but not as an MCP server does.
// missing is as in [ToolsMissing]; message says what it answered.
func NotMCP(missing []string, message string) Failure {
	f := ToolsMissing(false, missing, message)
	f.RecommendedAction = "Check that the URL is that of an MCP endpoint, and which protocol versions the MCP server speaks."
	return f
}

// ToolIDsUnsupported says that the engine has no route that lists tool ids.
func ToolIDsUnsupported(httpStatus int) Failure {
	return kind{
		code: CodeToolIDsUnsupported, stage: StageToolRegistration,
		action: "Update the engine.",
	}.failure("The engine cannot list its tool ids.", statusDetails(httpStatus))
}

// ToolIDsUnavailable says that the engine failed to list tool ids; it is worth
// a retry from HTTP status 500 on.
func ToolIDsUnavailable(httpStatus int) Failure {
	return kind{
		code: CodeToolIDsUnavailable, stage: StageToolRegistration, retryable: serverFault(httpStatus),
		action: "Retry; if it stays, update the engine.",
	}.failure("The engine failed to list its tool ids.", statusDetails(httpStatus))
}

// ProjectionMissing says that the chosen model does not exist or cannot call
// tools.
func ProjectionMissing(provider, model string) Failure {
	return kind{
		code: CodeProjectionMissing, stage: StageProviderProjection, alias: AliasProjectionMissing,
		action: "Choose a model that can call tools.",
	}.failure("The chosen model cannot use the MCP server's tools.", map[string]any{"provider": provider, "model": model})
}

// ProjectionUnavailable says that the engine failed to describe its models; it
// is worth a retry from HTTP status 500 on.
func ProjectionUnavailable(httpStatus int) Failure {
	return kind{
		code: CodeProjectionMissing, stage: StageProviderProjection, retryable: serverFault(httpStatus),
		alias: AliasProjectionUnavailable, action: "Retry; if it stays, update the engine.",
	}.failure("The engine failed to describe its models.", statusDetails(httpStatus))
}

// PluginMissing says that the engine has not loaded tools of its plugins.
// missing holds tool ids.
func PluginMissing(missing []string) Failure {
	return kind{
		code: CodePluginMissing, stage: StagePluginLoad, retryable: true,
		action: "Reload the engine.",
	}.failure("The engine has not loaded its plugins.", map[string]any{"missing": missing})
}
