package desired

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// PushTimeout is the timeout that a push sends along: the config's own, else 5 s. Without one the engine would hold a
// push for a minute.
func PushTimeout(c desired.Config) time.Duration {
	if c.TimeoutMillis > 0 {
		return time.Duration(c.TimeoutMillis) * time.Millisecond
	}
	return desired.DefaultTimeout
}
