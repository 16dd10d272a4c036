package health

// What the engine says, or does not say, about a server it should run.

// EngineUnreachable says that a call to the engine gave no usable answer. stage
// is that of the call.
func EngineUnreachable(stage Stage, cause string) Failure {
	return engineUnreachable(stage, errorDetails(cause))
}

func engineUnreachable(stage Stage, details map[string]any) Failure {
	return kind{
		code: CodeEngineUnreachable, stage: stage, retryable: true, alias: AliasEngineUnreachable,
		action: "Restart the engine, or wait: the connection is repaired once it answers.",
	}.failure("The engine cannot be reached.", details)
}

// EngineStatusUnavailable classifies a non-2xx answer to the engine's status
// read: from 500 the engine counts as unreachable, below it does not support
// what is asked.
func EngineStatusUnavailable(httpStatus int) Failure {
	if serverFault(httpStatus) {
		return engineUnreachable(StageEngineDelivery, statusDetails(httpStatus))
	}
	return kind{
		code: CodeSyncFailed, stage: StageEngineDelivery, alias: AliasConnectionFailed,
		action: "Check that the engine supports MCP status and that its credentials are right.",
	}.failure("The engine refused to tell the status of its MCP servers.", statusDetails(httpStatus))
}

// EngineEntryMissing says that the engine does not know the server.
func EngineEntryMissing() Failure {
	return kind{
		code: CodeCloudMissing, stage: StageEngineDelivery, retryable: true, alias: AliasStatusMissing,
		action: "Reconcile the connection.",
	}.failure("The engine does not have the MCP server.", nil)
}

// EngineDisabled says that the engine has the server switched off.
func EngineDisabled() Failure {
	return kind{
		code: CodeDisabled, stage: StageEngineDelivery, alias: AliasDisabled,
		action: "Enable the MCP server in the engine.",
	}.failure("The MCP server is disabled in the engine.", nil)
}

// NeedsAuth says that the engine wants a person to sign in.
func NeedsAuth(text string) Failure {
	return kind{
		code: CodeNeedsAuth, stage: StageTransportAuth, alias: AliasAuthRequired,
		action: "Reconnect the MCP server with valid credentials.",
	}.failure("The engine reports that the MCP server needs authentication.", errorDetails(text))
}

// ClientRegistrationRequired says that the server wants an OAuth client that
// was registered with it before.
func ClientRegistrationRequired(text string) Failure {
	return kind{
		code: CodeSyncFailed, stage: StageEngineDelivery, alias: AliasClientRegistrationRequired,
		action: "Reconnect the MCP server, or give it a registered OAuth client.",
	}.failure("The MCP server requires a registered OAuth client.", errorDetails(text))
}

// SyncFailed says that the engine could not connect the server, for a reason
// that no other failure names.
func SyncFailed(retryable bool, text string) Failure {
	return kind{
		code: CodeSyncFailed, stage: StageEngineDelivery, retryable: retryable, alias: AliasConnectionFailed,
		action: "Retry the connection.",
	}.failure("The engine could not connect the MCP server.", errorDetails(text))
}

// RegistrationFailed says that the engine did not take the registration.
func RegistrationFailed(retryable bool, text string) Failure {
	return kind{
		code: CodeSyncFailed, stage: StageEngineDelivery, retryable: retryable, alias: AliasRegistrationFailed,
		action: "Retry once the engine can be reached.",
	}.failure("The engine did not accept the registration of the MCP server.", errorDetails(text))
}

// FromEngineStatus translates what the engine says about one server: nil for
// "connected"; an empty status means that the engine has no such server.
// errorText is the engine's own text and counts only for "failed".
func FromEngineStatus(status, errorText string) *Failure {
	var f Failure
	switch status {
	case "connected":
		return nil
	case "":
		f = EngineEntryMissing()
	case "disabled":
		f = EngineDisabled()
	case "needs_auth":
		f = NeedsAuth(errorText)
	case "needs_client_registration":
		f = ClientRegistrationRequired(errorText)
	case "failed":
		f = ClassifyText(errorText)
	default:
		f = kind{
			code: CodeSyncFailed, stage: StageEngineDelivery, retryable: true, alias: AliasConnectionFailed,
			action: "Retry the connection.",
		}.failure("The engine reports an MCP status that is not known.", map[string]any{"status": status})
	}
	return &f
}

// DeliveryUnproven says that the engine is not known to have what is desired: its delivery is still due, under way, or no
// longer proven. running tells whether a workflow sees to it.
func DeliveryUnproven(state string, running bool) Failure {
	action := "Wait: the connection delivers and verifies by itself."
	if !running {
		action = "Start the connection: run holdfast setup, or apply it again."
	}
	return kind{
		code: CodeCloudMissing, stage: StageEngineDelivery, retryable: true, alias: AliasStatusMissing, action: action,
	}.failure("The delivery of the MCP server is not proven.", map[string]any{"state": state, "workflowRunning": running})
}
