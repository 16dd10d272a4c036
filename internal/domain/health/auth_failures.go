package health

// What the MCP endpoint holds against the credentials it was shown.

// InvalidToken says that the Authorization header, or the way to authenticate,
// is no good. alias tells how: [AliasAuthRequired], [AliasAuthInvalid] or
// [AliasTokenExpired].
func InvalidToken(stage Stage, alias, message string) Failure {
	return invalidToken(stage, alias, message, nil)
}

func invalidToken(stage Stage, alias, message string, details map[string]any) Failure {
	return kind{
		code: CodeInvalidToken, stage: stage, alias: alias,
		action: "Reconnect the MCP server with a valid token.",
	}.failure(message, details)
}

// MissingToken says that the endpoint saw no token at all.
func MissingToken(text string) Failure {
	return kind{
		code: CodeMissingToken, stage: StageTransportAuth, alias: AliasAuthRequired,
		action: "Sign in again, so that a token is sent.",
	}.failure("The MCP endpoint received no token.", errorDetails(text))
}

// SessionRevoked says that the grant behind the token was taken back.
func SessionRevoked(text string) Failure {
	return kind{
		code: CodeSessionRevoked, stage: StageTransportAuth,
		action: "Reconnect the MCP server.",
	}.failure("The grant behind the token was revoked.", errorDetails(text))
}

// SessionLost says that the endpoint has forgotten the MCP session, as after a
// restart of its server. Registering again makes a new one.
func SessionLost(text string) Failure {
	return kind{
		code: CodeSessionLost, stage: StageTransportAuth, retryable: true,
		action: "None: the server is registered again.",
	}.failure("The MCP endpoint no longer knows the session.", errorDetails(text))
}

// MembershipRevoked says that the token's owner is no member of the
// organisation.
func MembershipRevoked(text string) Failure {
	return kind{
		code: CodeMembershipRevoked, stage: StageTransportAuth, alias: AliasMembershipRequired,
		action: "Ask an administrator of the organisation for access.",
	}.failure("The organisation membership that the MCP endpoint requires is missing.", errorDetails(text))
}

// InsufficientScope says that the token lacks a scope.
func InsufficientScope(text string) Failure {
	return kind{
		code: CodeInsufficientScope, stage: StageTransportAuth, alias: AliasScopeMissing,
		action: "Reconnect the MCP server and grant the scopes it needs.",
	}.failure("The token lacks a scope that the MCP endpoint requires.", errorDetails(text))
}

// WrongResource says that the token is good, but not for this endpoint. alias is
// [AliasResourceForbidden] or [AliasResourceNotFound].
func WrongResource(alias, message string) Failure {
	return wrongResource(alias, message, nil)
}

func wrongResource(alias, message string, details map[string]any) Failure {
	action := "Check the organisation's policy for this MCP server."
	if alias == AliasResourceNotFound {
		action = "Reconnect the MCP server, or choose another organisation."
	}
	return kind{
		code: CodeWrongResource, stage: StageTransportAuth, alias: alias, action: action,
	}.failure(message, details)
}
