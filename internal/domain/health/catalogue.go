package health

import (
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// kind is what the failures of one row of the catalogue have in common.
type kind struct {
	code      Code
	stage     Stage
	retryable bool
	alias     string
	action    string
}

// failure builds the record: everything that may hold foreign text is redacted
// here and nowhere else. Ids are no secrets and survive it, so they are searched
// in the redacted details, which have one plain form.
func (k kind) failure(message string, details map[string]any) Failure {
	f := Failure{
		Code:              k.code,
		Stage:             k.stage,
		Retryable:         k.retryable,
		RecommendedAction: redact.String(k.action),
		Message:           redact.String(message),
	}
	if k.alias != "" {
		f.Aliases = []string{redact.String(k.alias)}
	}
	if len(details) == 0 {
		return f
	}
	if clean, ok := redact.Value(details).(map[string]any); ok {
		f.Details = clean
		f.RequestID, f.ReferenceID = harvest(clean)
	}
	return f
}

// errorDetails carries a foreign error text, if there is one.
func errorDetails(text string) map[string]any {
	if text == "" {
		return nil
	}
	return map[string]any{"error": text}
}

func statusDetails(httpStatus int) map[string]any {
	return map[string]any{"httpStatus": httpStatus}
}

// serverFault is true for statuses that say nothing against the request itself.
func serverFault(httpStatus int) bool {
	return httpStatus >= 500
}
