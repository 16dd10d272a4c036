package diagnosis

import (
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// scrubbed takes what we sent the engine out of what it says: patterns alone do not know a bare token.
func (f *facts) scrubbed(text string) string {
	if f.want != nil {
		text = engine.Scrub(text, f.want.Config)
	}
	return redact.String(text)
}

// told is what callers said beside a config, without what they should not have said: a member may be named token or secret.
func told(metadata map[string]any) map[string]any {
	if metadata == nil {
		return nil
	}
	shown, _ := redact.Value(metadata).(map[string]any)
	return shown
}
