package health

// What is wrong before anything is sent: the desired config and the
// prerequisites of a delivery. None of it goes away by trying again.

// DesiredMissing says that no desired config is stored.
func DesiredMissing() Failure {
	return kind{
		code: CodeCloudMissing, stage: StageDesiredConfig, alias: AliasDesiredMissing,
		action: "Connect the MCP server: store a desired config for it.",
	}.failure("No MCP server is configured for this workspace.", nil)
}

// EndpointInvalid says that type, URL, headers or timeout break a rule; msg
// names the rule and never quotes the value.
func EndpointInvalid(msg string) Failure {
	return kind{
		code: CodeEndpointInvalid, stage: StageDesiredConfig,
		action: "Correct the MCP server's configuration and connect it again.",
	}.failure(msg, nil)
}

// DesiredDisabled says that the desired config itself is not switched on; for
// what a person has switched off there is [SwitchedOff].
func DesiredDisabled() Failure {
	return kind{
		code: CodeDisabled, stage: StageDesiredConfig, alias: AliasDisabled,
		action: "Apply the config again with enabled: true, or run holdfast connection enable.",
	}.failure("The MCP server is switched off by its own desired config: enabled is not true there.", nil)
}

// TokenOrgMismatch says that the token belongs to another organisation than the
// active one.
func TokenOrgMismatch() Failure {
	return kind{
		code: CodeTokenOrgMismatch, stage: StageDesiredConfig,
		action: "Choose the organisation that the token was made for, then repair.",
	}.failure("The token belongs to another organisation than the active one.", nil)
}

// DirectoryAmbiguous says that the workspace has no exact directory.
func DirectoryAmbiguous() Failure {
	return kind{
		code: CodeDirectoryAmbiguous, stage: StagePrerequisites,
		action: "Set an explicit directory for the workspace.",
	}.failure("The workspace has no exact directory to register the MCP server for.", nil)
}

// EngineUnconfigured says that the workspace has no engine address.
func EngineUnconfigured() Failure {
	return kind{
		code: CodeEngineUnconfigured, stage: StagePrerequisites,
		action: "Start or attach an engine for the workspace.",
	}.failure("No engine is configured for the workspace.", nil)
}

// ConfigConflict says that the engine's own configuration defines a server of
// this name, so a delivery would fight with it.
func ConfigConflict(name string) Failure {
	return kind{
		code: CodeEngineConfigConflict, stage: StagePrerequisites,
		action: "Remove the server from the engine's own configuration, or choose another name.",
	}.failure("The engine's own configuration already defines a server of this name.", map[string]any{"name": name})
}

// ToolsDenied says that a configuration keeps expected tools from the model.
// denials are the rules that do, in their JSON form.
func ToolsDenied(denials any) Failure {
	return kind{
		code: CodeToolsDenied, stage: StagePrerequisites,
		action: "Remove the rules that deny the MCP server's tools.",
	}.failure("The engine's configuration denies tools of the MCP server.", map[string]any{"toolDenies": denials})
}

// TokenSourceUnreachable says that the token source gave no answer.
func TokenSourceUnreachable(cause string) Failure {
	return kind{
		code: CodeTokenSourceUnreachable, stage: StageTokenMint, retryable: true,
		action: "Check tokenUrl and the network path to it; minting is tried again.",
	}.failure("The token source cannot be reached.", errorDetails(cause))
}

// TokenSourceRejected says that the token source refused to give a token.
func TokenSourceRejected(cause string) Failure {
	return kind{
		code: CodeTokenSourceRejected, stage: StageTokenMint,
		action: "Check tokenUrl, clientId and clientSecret of the token source; renew its refresh token where it has one.",
	}.failure("The token source refused to issue a token.", errorDetails(cause))
}

// TokenSourceInvalid says that the token source is misconfigured or gave
// something that is no token.
func TokenSourceInvalid(cause string) Failure {
	return TokenSourceYieldsNone(cause, "Correct the configuration of the token source, and apply it again.")
}

// TokenSourceYieldsNone is [TokenSourceInvalid] of a source whose kind tells what
// a person can do.
func TokenSourceYieldsNone(cause, action string) Failure {
	return kind{
		code: CodeTokenSourceInvalid, stage: StageTokenMint, action: action,
	}.failure("The token source does not yield a usable token.", errorDetails(cause))
}
