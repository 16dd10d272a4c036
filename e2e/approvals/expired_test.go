package approvals_test

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// goClientIsTooLate holds A18: what nobody decided on is told as that wherever it is told, and as nothing else.
func goClientIsTooLate(t *testing.T, u *user) {
	name := testkit.UniqueName()
	named := &mcp.CallToolParams{
		Name: gatehost.ToolExecute, Arguments: executing("late.put", putting(name)), Meta: mcp.Meta{gatehost.MetaIdempotencyKey: name},
	}
	c := u.connect(u.gateway.URL, "browser", legacy)
	id := c.callWith(named).ExecutionID
	key := keyOf(t, id)
	got := c.resume(id)
	require.Equal(t, "execution_expired", got.Status, got.Text)
	require.Equal(t, shortWindow.Milliseconds(), got.TTL)
	require.Equal(t, "re_execute", got.Recovery)
	require.True(t, got.IsError)
	require.Contains(t, got.Text, "nobody decided in time")
	require.Contains(t, got.Text, "Approval windows last 2 seconds")
	require.NotContains(t, got.Text, "declined")
	require.Equal(t, approval.OutcomeExpired, u.outcomeOf(key).Kind)
	require.Equal(t, "execution_expired", c.callWith(named).Status, "asked for again under its name")

	pause := approval.PauseID(key, 1)
	page := u.visit(u.gateway.URL+"/resume/"+pause, "Too late: nobody decided in time", "The tool was not called")
	require.False(t, page.Has("#answer"), "there is nothing to press")
	page.Shoot("approval-real-expired")

	view := u.approval(pause)
	require.Equal(t, "expired", view.State)
	require.Equal(t, "expired", view.Outcome)
	require.Nil(t, view.Decision)
	tooLate := u.decide(pause, approval.ActionAccept)
	require.Equal(t, http.StatusConflict, tooLate.status)
	require.Contains(t, string(tooLate.body), "execution_expired")
	require.Equal(t, "expired", u.audited(key, "outcome").Outcome)
	require.Equal(t, pause, u.audited(key, "expire").Pause)
	require.Zero(t, u.runs(name))

	require.Regexp(t, `holdfast_tool_calls_total\{outcome="expired"\} [1-9]`, string(u.get("/metrics").ok().body))
	require.Regexp(t, `holdfast_executions_total\{[^}]*outcome="expired"[^}]*\} [1-9]`,
		string(u.api("http://"+u.worker, http.MethodGet, "/metrics", nil).ok().body))
}
