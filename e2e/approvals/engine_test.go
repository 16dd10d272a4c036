package approvals_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

// engineLate is for what a real engine does on a busy machine.
const engineLate = 4 * time.Minute

var (
	executionIDs = regexp.MustCompile(`exec_[A-Za-z0-9_-]+`)
	approvalURLs = regexp.MustCompile(`http://[^\s"]+/resume/exec_[A-Za-z0-9_-]+`)
)

// realEngine has a model in the real engine call a gated tool of this gateway, to which Holdfast has connected the engine, and go on
// when a person has approved.
func realEngine(t *testing.T, u *user) {
	name := testkit.UniqueName()
	call, err := json.Marshal(map[string]any{"address": "mail.put", "arguments": putting(name)})
	require.NoError(t, err)
	model, err := simulator.NewModel(simulator.ModelOptions{Next: func(results []string) (tool, arguments string) {
		if len(results) == 0 {
			return "holdfast_execute_capability", string(call)
		}
		last := results[len(results)-1]
		if strings.Contains(last, "wrote "+name) || len(results) > 20 {
			return "", ""
		}
		return "holdfast_resume", `{"executionId":"` + executionIDs.FindString(results[0]) + `"}`
	}})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	engine := testkit.RealEngineWith(t, model.Configuration())
	directory, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	key := u.Apply(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "holdfast", Directory: directory, EngineURL: engine.BaseURL(),
		URL: u.gateway.URL + "/mcp?elicitation_mode=browser", Headers: map[string]string{"Authorization": "Bearer " + u.token}, TimeoutMillis: 60000,
	})
	u.AwaitState(key, delivery.Ready, engineLate)

	person := testkit.NewEngineUser(t, engine.BaseURL(), directory)
	session, err := person.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, person.Prompt(t.Context(), session, "put it there"))
	url := ""
	testkit.Eventually(t, engineLate, func() bool {
		calls, err := person.Calls(t.Context(), session)
		if err != nil || len(calls) == 0 {
			return false
		}
		url = approvalURLs.FindString(calls[0].Text)
		return url != ""
	}, "the engine shows the approval's address")
	require.True(t, strings.HasPrefix(url, u.gateway.URL), url)
	require.Zero(t, u.runs(name))

	page := u.visit(url, "mail.put", name, "Waiting for an answer", "opencode")
	approve(page, "wrote "+name)
	var calls []testkit.ToolCall
	testkit.Eventually(t, engineLate, func() bool {
		calls, err = person.Calls(t.Context(), session)
		return err == nil && len(calls) > 1 && strings.Contains(calls[len(calls)-1].Text, "wrote "+name)
	}, "the engine has the outcome")
	for _, each := range calls {
		require.True(t, each.OK(), "%s: %s", each.Tool, each.Text)
	}
	require.Equal(t, 1, u.runs(name))
	turns := model.Turns()
	require.Contains(t, turns[0].Offered, "holdfast_search_capabilities")
}
