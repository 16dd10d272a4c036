package approvals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const tenMiB = 10 << 20

// readOnly is answered at once, without anything that is kept but the audit's line.
func readOnly(t *testing.T, u *user) {
	for _, protocol := range []string{legacy, modern} {
		c := u.connect(u.gateway.URL, "browser", protocol)
		got := c.execute("mail.echo", map[string]any{"text": "hello"})
		require.Equal(t, "completed", got.Status, got.Text)
		require.Equal(t, "hello", got.Text)
		require.Empty(t, got.ExecutionID)
	}
	var kept struct{ Items []struct{ Key string } }
	u.get("/api/v1/executions").ok().into(&kept)
	require.Empty(t, kept.Items)
	testkit.Eventually(t, late, func() bool {
		var list struct{ Items []auditLine }
		u.get("/api/v1/audit?tool=mail.echo").ok().into(&list)
		return len(list.Items) == 2 && list.Items[0].Action == "call" && list.Items[0].Outcome == "completed" && list.Items[0].Account == u.account
	}, "both calls are audited")
}

// tenMiBPass through the gateway at once, and through an execution that a person has approved.
func tenMiBPass(t *testing.T, u *user) {
	direct := u.connect(u.gateway.URL, "browser", legacy)
	require.Len(t, direct.execute("mail.big", map[string]any{"bytes": tenMiB}).Text, tenMiB)
	gated := u.connect(u.gateway.URL, "browser", modern)
	asked := gated.execute("talk.big", map[string]any{"bytes": tenMiB})
	page := u.visit(asked.byPage(t, u.gateway.URL), "talk.big", "10485760")
	approve(page, "Only the beginning is shown. The client gets all of it.")
	require.Len(t, gated.resume(asked.ExecutionID).Text, tenMiB)
}
