package gatehost_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

var form = approval.Request{
	Kind: approval.KindForm, Message: "Which branch?", Schema: json.RawMessage(`{"type":"object","properties":{"branch":{"type":"string"}}}`),
}

// pausing makes the engine pause with a report until it is resumed.
func (r *rig) pausing(report executions.Report) {
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) { return report, nil }
	r.engine.lookup = func(string) (executions.Report, error) { return report, nil }
	r.engine.resume = func(executions.Caller, executions.Answer) (executions.Report, error) {
		return completed(`{"content":[{"type":"text","text":"done"}]}`)
	}
}

func TestAClientOfTheStatelessProtocolIsAskedAndGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.pausing(paused(true, form))
	var asked []*mcp.ElicitParams
	client := r.connect(modern, func(p *mcp.ElicitParams) *mcp.ElicitResult {
		asked = append(asked, p)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"branch": "main"}}
	})
	result := r.call(client, gatehost.ToolExecute, map[string]any{"address": "github.put", "arguments": map[string]any{"name": "a"}})
	require.Equal(t, "done", text(t, result))
	require.Len(t, asked, 1)
	require.Equal(t, "form", asked[0].Mode)
	require.Contains(t, asked[0].Message, "Which branch?")
	require.Contains(t, asked[0].Message, `"name": "a"`)
	require.Len(t, r.engine.calls, 1, "it is not called again")
	require.Len(t, r.engine.answers, 1)
	require.Equal(t, approval.PauseID(key, 1), r.engine.answers[0].ID)
	require.Equal(t, approval.ActionAccept, r.engine.answers[0].Action)
	require.JSONEq(t, `{"branch":"main"}`, string(r.engine.answers[0].Content))
}

func TestAClientThatMayNotAnswerIsSentToThePageAndWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.pausing(paused(false, gate))
	var asked []*mcp.ElicitParams
	client := r.connect(modern, func(p *mcp.ElicitParams) *mcp.ElicitResult {
		asked = append(asked, p)
		return &mcp.ElicitResult{Action: "accept"}
	})
	result := r.call(client, gatehost.ToolExecute, map[string]any{"address": "github.put"})
	require.Equal(t, "done", text(t, result))
	require.Equal(t, "url", asked[0].Mode)
	require.Equal(t, "https://gate.example/resume/"+approval.PauseID(key, 1), asked[0].URL)
	require.Empty(t, r.engine.answers[0].Action, "having opened the page decides nothing")
}

func TestAPageThatIsNotOpenedIsToldPlainlyAndDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.pausing(paused(false, gate))
	client := r.connect(modern, func(*mcp.ElicitParams) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} })
	result := r.call(client, gatehost.ToolExecute, map[string]any{"address": "github.put"})
	require.Equal(t, "user_approval_required", fields(t, result)["status"])
	require.Empty(t, r.engine.answers)
}

func TestAClientThatCannotBeAskedGetsThePauseAsAResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.pausing(paused(true, gate))
	result := r.call(r.connect(modern, nil), gatehost.ToolExecute, map[string]any{"address": "github.put"})
	require.Equal(t, "waiting_for_interaction", fields(t, result)["status"])
}

// The state is taken only from whom it was given to, for the call that it belongs to, and for a time.
func TestAStateIsBoundToItsCallAndItsOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.pausing(paused(true, gate))
	raw := func(r *rig, arguments map[string]any, state string) *mcp.CallToolResult {
		t.Helper()
		params := &mcp.CallToolParams{Name: gatehost.ToolExecute, Arguments: arguments, RequestState: state}
		if state != "" {
			params.InputResponses = mcp.InputResponseMap{approval.PauseID(key, 1): &mcp.ElicitResult{Action: "accept"}}
		}
		result, err := r.connectRaw().CallTool(t.Context(), params)
		require.NoError(t, err)
		return result
	}
	mine := map[string]any{"address": "github.put", "arguments": map[string]any{"name": "a"}}
	first := raw(r, mine, "")
	require.True(t, first.NeedsInput())
	require.Empty(t, first.Content)
	state := first.RequestState

	refused := func(result *mcp.CallToolResult) {
		t.Helper()
		require.True(t, result.IsError)
		require.Equal(t, "invalid_tool_arguments", fields(t, result)["reason"])
		require.Empty(t, r.engine.answers)
	}
	refused(raw(r, map[string]any{"address": "github.put", "arguments": map[string]any{"name": "b"}}, state))
	refused(raw(r, mine, state[:len(state)-2]+"AA"))
	refused(raw(r, mine, "nonsense"))
	r.meta.Principal.Identity.Account = "eve"
	refused(raw(r, mine, state))
	r.meta.Principal.Identity.Account = "ada"
	old := paused(true, gate)
	old.Pause.Deadline = time.Now().Add(-2 * time.Hour)
	r.pausing(old)
	refused(raw(r, mine, raw(r, mine, "").RequestState))

	require.Equal(t, "done", text(t, raw(r, mine, state)))
}
