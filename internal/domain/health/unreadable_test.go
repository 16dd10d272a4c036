package health_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

func TestAnUnreadableConfigSaysWhatIsUnderIt(t *testing.T) {
	t.Parallel()
	f := health.DesiredUnreadable(false, "row w1/cloud: token=abc is damaged")
	require.Contains(t, f.Cause(), "row w1/cloud")
	require.NotContains(t, f.Cause(), "abc")
	require.Equal(t, health.PhaseMissingDesired, health.PhaseOf(&f))
	require.Empty(t, health.DesiredMissing().Cause())
}
