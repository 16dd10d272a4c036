package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

func TestADecisionIsToldWithWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 6, 6, 7, 0, time.FixedZone("", 3600))
	for claim, tc := range map[string]struct {
		decision        health.Decision
		message, action string
	}{
		"all": {
			health.Decision{Workspace: "w", Name: "n", By: "cli:jane", Reason: " too slow ", At: at},
			"The MCP server was switched off for workspace w by cli:jane on 2026-03-04 05:06:07 UTC; the reason given: too slow",
			"To switch it on again, run holdfast connection enable w/n.",
		},
		"little": {
			health.Decision{Account: "acme", Name: "n"},
			"The MCP server was switched off for account acme; no reason was given.",
			"To switch it on again, run holdfast account enable acme/n.",
		},
		"a name that a shell takes apart": {
			health.Decision{Workspace: "w", Name: "it's one"},
			"The MCP server was switched off for workspace w; no reason was given.",
			`To switch it on again, run holdfast connection enable 'w/it'\''s one'.`,
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			f := health.SwitchedOff(tc.decision)
			require.Equal(t, tc.message, f.Message)
			require.Equal(t, tc.action, f.RecommendedAction)
		})
	}
}

func TestTheReasonOfADecisionIsBoundedAndRedacted(t *testing.T) {
	t.Parallel()
	f := health.SwitchedOff(health.Decision{Workspace: "w", Name: "n", Reason: "sent Bearer owt_canary " + strings.Repeat("é", 500)})
	require.NotContains(t, f.Message, "canary")
	require.Contains(t, f.Message, "[REDACTED]")
	require.Less(t, len(f.Message), 600)
}
