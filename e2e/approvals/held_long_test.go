//go:build soak

package approvals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// TestAHeldCallOutlivesAProxyThatDropsWhatIsSilent holds A14 for longer than two comments.
func TestAHeldCallOutlivesAProxyThatDropsWhatIsSilent(t *testing.T) {
	t.Parallel()
	u := newRig(t).user(t)
	name := testkit.UniqueName()
	w := u.wire(hastyProxy(t, u.gateway.URL, 25*time.Second), "browser")
	listener := w.listen(t.Context(), "")
	defer listener.close()
	held := w.begin(t.Context(), gatehost.ToolExecute, executing("mail.slow", map[string]any{"name": name}), nil)
	defer held.close()
	for _, each := range []*sse{held, listener} {
		for comments := 0; comments < 3; {
			if each.event().comment == "keepalive" {
				comments++
			}
		}
	}
	u.upstream.Release(name)
	require.Equal(t, "done", held.result().Text)
}
