package gatehost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
)

func paused(mayAnswer bool, request approval.Request) executions.Report {
	now := time.Now().UTC()
	return executions.Report{
		Status: executions.StatusPaused, Key: key, Address: "github.put", Arguments: json.RawMessage(`{"name":"a"}`), ModelMayAnswer: mayAnswer,
		Pause: &approval.Pause{ID: approval.PauseID(key, 1), Number: 1, Request: request, CreatedAt: now, Deadline: now.Add(4 * time.Minute)},
	}
}

var gate = approval.Request{Kind: approval.KindGate, Message: "Approve github.put?", Reason: "annotation: destructive"}

// cases 3 and 36 as far as there are modes
func TestEachModeHasItsTools(t *testing.T) {
	t.Parallel()
	for mode, wantAction := range map[approval.Mode]bool{approval.ModeModel: true, approval.ModeBrowser: false} {
		for _, protocol := range []string{legacy, modern} {
			client := newRig(t, mode).connect(protocol, nil)
			if protocol == legacy {
				require.Equal(t, "holdfast", client.InitializeResult().ServerInfo.Name)
				raw, err := json.Marshal(client.InitializeResult().Capabilities)
				require.NoError(t, err)
				require.JSONEq(t, `{"tools":{}}`, string(raw))
			}
			list, err := client.ListTools(t.Context(), nil)
			require.NoError(t, err)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				if tool.Name == gatehost.ToolResume {
					raw, err := json.Marshal(tool.InputSchema)
					require.NoError(t, err)
					require.Equal(t, wantAction, strings.Contains(string(raw), `"action"`))
				}
				if tool.Name == gatehost.ToolExecute {
					require.Contains(t, tool.Description, "## Available sources\n\n- github\n- mail")
				}
			}
			require.ElementsMatch(t, []string{"search_capabilities", "execute_capability", "resume", "skills"}, names)
		}
	}
}

func TestADescriptionListsAtMostFiftySources(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	var sources []string
	for n := range 60 {
		sources = append(sources, fmt.Sprintf("source-%02d", n))
	}
	r.params.Catalog = shelf{sources: sources}
	list, err := r.connect(legacy, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		if tool.Name == gatehost.ToolSearch {
			require.Contains(t, tool.Description, "- source-49\n... 10 more")
			require.NotContains(t, tool.Description, "source-50")
		}
	}
	r.params.Catalog = shelf{}
	list, err = r.connect(legacy, nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		require.NotContains(t, tool.Description, "Available sources")
	}
}

func TestNobodyWithoutAnIdentityIsServed(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.meta.Principal.Identity.Organisation = ""
	_, err := gatehost.New(r.params).ResolveMeta(t.Context(), r.meta)
	require.Error(t, err)
}

// cases 35 and 44
func TestInBrowserModeTheClientIsNeverAskedItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeBrowser)
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) { return paused(false, gate), nil }
	client := r.connect(legacy, func(*mcp.ElicitParams) *mcp.ElicitResult {
		t.Error("asked")
		return &mcp.ElicitResult{Action: "accept"}
	})
	result := r.call(client, gatehost.ToolExecute, map[string]any{"address": "github.put"})
	require.Equal(t, "user_approval_required", fields(t, result)["status"])
	require.NotContains(t, fields(t, result), "interaction")
	require.Equal(t, "https://gate.example/resume/"+approval.PauseID(key, 1), fields(t, result)["approvalUrl"])
	require.False(t, result.IsError)
}

// case 37
func TestADefectIsToldByANumberAlone(t *testing.T) {
	t.Parallel()
	for _, fail := range []func() error{
		func() error { return errors.New("password=hunter2") },
		func() error { panic("password=hunter2") },
	} {
		r := newRig(t, approval.ModeModel)
		var log bytes.Buffer
		r.params.Log = slog.New(slog.NewTextHandler(&log, nil))
		r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) {
			return executions.Report{}, fail()
		}
		result := r.call(r.connect(legacy, nil), gatehost.ToolExecute, map[string]any{"address": "github.put"})
		require.True(t, result.IsError)
		require.Regexp(t, `^Error: Internal tool error \[[0-9a-f]{8}\]$`, text(t, result))
		require.Equal(t, "error", fields(t, result)["status"])
		require.NotContains(t, text(t, result), "hunter2")
		require.Contains(t, log.String(), "hunter2", "the log has the cause, behind its own redaction")
	}
}

// case 39
func TestSkillsAreTextAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	client := r.connect(legacy, nil)
	for name, want := range map[string]struct {
		contains string
		isError  bool
	}{
		"": {"Guides:", false}, "  ": {"Guides:", false}, "execute_capability": {"# Calling tools", false},
		"EXECUTE_CAPABILITY": {"Guides:", true}, "nothing": {"Guides:", true},
	} {
		result := r.call(client, gatehost.ToolSkills, map[string]any{"name": name})
		require.Contains(t, text(t, result), want.contains)
		require.Equal(t, want.isError, result.IsError)
		require.Nil(t, result.StructuredContent)
	}
	require.Contains(t, text(t, r.call(client, gatehost.ToolSkills, nil)), "Guides:")
	require.Contains(t, text(t, r.call(client, gatehost.ToolSkills, map[string]any{"name": "execute_capability"})), "- github")
}

func TestWhatAToolAnswersIsPassedOnAsItCame(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) {
		return completed(`{"_meta":{"trace":"t"},"content":[{"type":"text","text":"hello"},{"type":"image","data":"AAAA","mimeType":"image/png"},` +
			`{"type":"resource_link","uri":"file:///x","name":"x"}],"structuredContent":{"n":1}}`)
	}
	result := r.call(r.connect(legacy, nil), gatehost.ToolExecute, map[string]any{"address": "github.get", "arguments": map[string]any{"a": 1}})
	require.Equal(t, "hello", text(t, result))
	require.IsType(t, &mcp.ImageContent{}, result.Content[1])
	require.IsType(t, &mcp.ResourceLink{}, result.Content[2])
	require.Equal(t, map[string]any{"status": "completed", "result": map[string]any{"n": 1.0}, "logs": []any{}}, result.StructuredContent)
	require.Equal(t, "t", result.Meta["trace"])
	require.JSONEq(t, `{"a":1}`, string(r.engine.calls[0].Arguments))
	require.Equal(t, "mcp", r.engine.callers[0].Via)
	require.Equal(t, r.meta.Principal.Identity, r.engine.callers[0].Identity)
	require.False(t, r.engine.callers[0].Operator)
}

func TestAResultOfTenMebibytesPasses(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	long := strings.Repeat("0123456789abcdef", 10<<16)
	raw, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": long}}})
	require.NoError(t, err)
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) { return completed(string(raw)) }
	result := r.call(r.connect(legacy, nil), gatehost.ToolExecute, map[string]any{"address": "github.get"})
	require.Len(t, text(t, result), len(long))
	require.Equal(t, long, text(t, result))
	require.Nil(t, fields(t, result)["result"], "it is not told twice")
}

func TestAToolsOwnErrorIsAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) {
		report, err := completed(`{"content":[{"type":"text","text":"no such repository"}],"isError":true}`)
		report.Outcome.ToolError = true
		return report, err
	}
	result := r.call(r.connect(legacy, nil), gatehost.ToolExecute, map[string]any{"address": "github.get"})
	require.True(t, result.IsError)
	require.Equal(t, "no such repository", text(t, result))
	require.Equal(t, "tool_error", fields(t, result)["reason"])
}

func TestAClientNamesItsCallByAKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) { return completed(`{}`) }
	client := r.connect(legacy, nil)
	params := &mcp.CallToolParams{Name: gatehost.ToolExecute, Arguments: map[string]any{"address": "github.get"}}
	params.Meta = mcp.Meta{gatehost.MetaIdempotencyKey: "mine"}
	_, err := client.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.Equal(t, "key:mine", r.engine.calls[0].Request)
}

func TestContentThatIsNoObjectIsNoContentAndNoError(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	r.engine.resume = func(executions.Caller, executions.Answer) (executions.Report, error) { return completed(`{}`) }
	client := r.connect(legacy, nil)
	for given, want := range map[string]string{
		`{}`: "", `{"a":1}`: `{"a":1}`, `[1]`: "", `"x"`: "", `7`: "", `{`: "", ``: "", `null`: "",
	} {
		result := r.call(client, gatehost.ToolResume, map[string]any{"executionId": approval.PauseID(key, 1), "action": "accept", "content": given})
		require.False(t, result.IsError)
		require.Equal(t, want, string(r.engine.answers[len(r.engine.answers)-1].Content), given)
	}
	r.call(client, gatehost.ToolResume, map[string]any{"executionId": "x", "action": "accept", "content": map[string]any{"b": 2}})
	require.JSONEq(t, `{"b":2}`, string(r.engine.answers[len(r.engine.answers)-1].Content), "some models write the object itself")
	r.call(client, gatehost.ToolResume, map[string]any{"executionId": "x"})
	require.Empty(t, r.engine.answers[len(r.engine.answers)-1].Action)
	require.True(t, r.call(client, gatehost.ToolResume, map[string]any{"executionId": "x", "action": "perhaps"}).IsError)

	browser := newRig(t, approval.ModeBrowser)
	browser.engine.resume = r.engine.resume
	browser.call(browser.connect(legacy, nil), gatehost.ToolResume, map[string]any{"executionId": "x", "action": "accept"})
	require.Empty(t, browser.engine.answers[0].Action, "a browser session has no say")
}

// cases 28, 51 and those of refusals, as a client sees them
func TestErrorsOfTheEngineAreAnswers(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	client := r.connect(legacy, nil)
	for status, each := range map[string]error{
		"execution_not_found": &executions.NotFoundError{ID: "x"}, "execution_forbidden": &executions.ForbiddenError{ID: "x"},
		"error": &executions.UnavailableError{What: "temporal", Err: errors.New("dial tcp 10.0.0.1")},
	} {
		r.engine.resume = func(executions.Caller, executions.Answer) (executions.Report, error) {
			return executions.Report{}, each
		}
		result := r.call(client, gatehost.ToolResume, map[string]any{"executionId": "x"})
		require.True(t, result.IsError)
		require.Equal(t, status, fields(t, result)["status"])
		require.NotContains(t, text(t, result), "10.0.0.1")
	}
	for reason, each := range map[string]error{
		"tool_blocked": &executions.DeniedError{Address: "a.b", Rule: "rule 1: a.*"}, "tool_not_found": &executions.UnknownToolError{Address: "a.b"},
		"invalid_tool_arguments": &executions.ArgumentsError{Address: "a.b", Problem: "name: is required"},
	} {
		r.engine.execute = func(executions.Caller, executions.Call) (executions.Report, error) { return executions.Report{}, each }
		result := r.call(client, gatehost.ToolExecute, map[string]any{"address": "a.b"})
		require.True(t, result.IsError)
		require.Equal(t, reason, fields(t, result)["reason"])
	}
}

func TestASearchShowsWhatMayBeCalled(t *testing.T) {
	t.Parallel()
	r := newRig(t, approval.ModeModel)
	yes := true
	r.params.Catalog = shelf{tools: []catalog.Tool{
		{Address: "github.get", Description: "Reads", Input: json.RawMessage(`{"type":"object"}`), Annotations: policy.Annotations{ReadOnly: &yes}},
		{Address: "github.delete", Description: "Deletes"},
		{Address: "secret.tool"},
	}}
	r.params.Policy = func(context.Context) executions.Policy {
		return executions.Policy{Rules: []policy.Rule{{Pattern: "secret.*", Effect: policy.Deny}}}
	}
	client := r.connect(legacy, nil)
	result := r.call(client, gatehost.ToolSearch, map[string]any{"query": "x"})
	tools, ok := fields(t, result)["tools"].([]any)
	require.True(t, ok)
	require.Len(t, tools, 2)
	require.Equal(t, false, tools[0].(map[string]any)["requiresApproval"])
	require.Equal(t, true, tools[1].(map[string]any)["requiresApproval"])
	require.NotContains(t, text(t, result), "secret")
	require.Contains(t, text(t, result), "github.delete (waits for a person's approval)")
	limited := r.call(client, gatehost.ToolSearch, map[string]any{"limit": 1})
	require.Len(t, fields(t, limited)["tools"], 1)
}
