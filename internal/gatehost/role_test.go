package gatehost_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

func TestWhoOnlyReadsCallsNoToolAndDecidesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		role auth.Role
		only bool
		want string
	}{
		"a viewer":            {auth.RoleViewer, false, "viewer"},
		"nobody":              {"", false, "collaborator"},
		"a read-only gateway": {auth.RoleOwner, true, "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, protocol := range []string{legacy, modern} {
				r := newRig(t, approval.ModeModel)
				r.meta.Principal.Role, r.params.ReadOnly = tc.role, tc.only
				r.engine.resume = func(executions.Caller, executions.Answer) (executions.Report, error) {
					return completed(`{"content":[{"type":"text","text":"as it ended"}]}`)
				}
				client := r.connect(protocol, nil)
				for _, refused := range []*mcp.CallToolResult{
					r.call(client, gatehost.ToolExecute, map[string]any{"address": "github.put"}),
					r.call(client, gatehost.ToolResume, map[string]any{"executionId": approval.PauseID(key, 1), "action": "accept"}),
				} {
					require.True(t, refused.IsError)
					require.Equal(t, "not_allowed", fields(t, refused)["reason"])
					require.Contains(t, text(t, refused), tc.want)
				}
				require.Empty(t, r.engine.calls)
				require.Empty(t, r.engine.answers)

				waited := r.call(client, gatehost.ToolResume, map[string]any{"executionId": approval.PauseID(key, 1)})
				require.Equal(t, "as it ended", text(t, waited))
			}
		})
	}
}
