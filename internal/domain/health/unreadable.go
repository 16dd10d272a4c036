package health

// CodeDesiredUnreadable says that what is desired cannot be read from the store.
const CodeDesiredUnreadable Code = "desired_config_unreadable"

// DesiredUnreadable says that the stored desired config cannot be read. The
// cause names the row. A damaged row stays damaged; a store that does not answer
// may answer later.
func DesiredUnreadable(retryable bool, cause string) Failure {
	action := "Wait for the store to answer; the connection goes on by itself."
	if !retryable {
		action = "Apply the connection again, or restore database and keysets from one backup."
	}
	return kind{
		code: CodeDesiredUnreadable, stage: StageDesiredConfig, retryable: retryable, action: action,
	}.failure("The stored config of the MCP server cannot be read.", errorDetails(cause))
}

// Cause is the text of what lies under the failure, redacted; "" when it has none.
func (f Failure) Cause() string {
	cause, _ := f.Details["error"].(string)
	return cause
}
