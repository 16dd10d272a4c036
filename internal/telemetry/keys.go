package telemetry

// Keys of log attributes, declared once so that a search for one finds every line.
const (
	KeyComponent   = "component"
	KeyError       = "error"
	KeyWorkspace   = "workspace_id"
	KeyName        = "server_name"
	KeyDirectory   = "directory"
	KeyEngine      = "engine_id"
	KeySession     = "session_id"
	KeyExecution   = "execution_id"
	KeyTool        = "tool"
	KeyState       = "state"
	KeyFrom        = "from"
	KeyTo          = "to"
	KeyReason      = "reason"
	KeyTrigger     = "trigger"
	KeyRevision    = "revision"
	KeyGeneration  = "generation"
	KeyFailureCode = "failure_code"
	KeyStage       = "stage"
	KeyRetryable   = "retryable"
	KeyAttempt     = "attempt"
	KeyStatus      = "status"
	KeyCount       = "count"
	KeyLatency     = "latency"
	KeyDelay       = "delay"
	KeyAddress     = "address"
	KeyPath        = "path"
	KeyMethod      = "method"
	KeyVersion     = "version"
	KeyNamespace   = "namespace"
	KeyTaskQueue   = "task_queue"
	KeyWorkflowID  = "workflow_id"
	KeyRunID       = "run_id"
)

// Keys lists all of them.
func Keys() []string {
	return []string{
		KeyComponent, KeyError, KeyWorkspace, KeyName, KeyDirectory, KeyEngine, KeySession, KeyExecution, KeyTool, KeyState,
		KeyFrom, KeyTo, KeyReason, KeyTrigger, KeyRevision, KeyGeneration, KeyFailureCode, KeyStage, KeyRetryable, KeyAttempt,
		KeyStatus, KeyCount, KeyLatency, KeyDelay, KeyAddress, KeyPath, KeyMethod, KeyVersion, KeyNamespace, KeyTaskQueue,
		KeyWorkflowID, KeyRunID,
	}
}
