package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

const (
	searchTool  = "cloud_search_capabilities"
	executeTool = "cloud_execute_capability"
)

// deniedCases are configurations of a directory, beside a global one that switches execute off. The model is the judge.
var deniedCases = []struct{ claim, file, want string }{
	{"nothing", `{}`, executeTool + " config.global tools"},
	{"search is switched off", `{"tools":{"` + searchTool + `":false}}`, searchTool + " config.project tools, " + executeTool + " config.global tools"},
	{"execute is switched on again", `{"tools":{"` + executeTool + `":true}}`, ""},
	{"all is denied", `{"permission":"deny"}`, searchTool + " config.project permission, " + executeTool + " config.project permission"},
	{"all but ours is denied", `{"permission":{"*":"deny","cloud_*":"allow"}}`, ""},
	{"ours is allowed before all is denied", `{"permission":{"cloud_*":"allow","*":"deny"}}`, searchTool + " config.project permission, " + executeTool + " config.project permission"},
	{"a rule for bash", `{"permission":{"bash":{"*":"deny"}}}`, executeTool + " config.global tools"},
	{"a negation", `{"tools":{"!bash":false}}`, executeTool + " config.global tools"},
	{"mcp names", `{"tools":{"mcp.*":false,"mcp*":false,"cloud":false}}`, executeTool + " config.global tools"},
	{"every call is refused", `{"permission":{"` + searchTool + `":{"*":"deny","x":"allow"}}}`, searchTool + " config.project permission, " + executeTool + " config.global tools"},
	{"some other call is refused", `{"permission":{"` + searchTool + `":{"x":"deny"}}}`, executeTool + " config.global tools"},
	{"the agent may not", `{"agent":{"build":{"tools":{"` + searchTool + `":false}}}}`, searchTool + " config.project agent.tools, " + executeTool + " config.global tools"},
}

// TestRealEngineHealthTellsWhatModelsGet has a model call a tool in directories that deny it in one way or another, and holds
// the health document against what came of the call.
func TestRealEngineHealthTellsWhatModelsGet(t *testing.T) {
	t.Parallel()
	endpoint := scripted(t, simulator.EndpointOptions{})
	model, err := simulator.NewModel(simulator.ModelOptions{Tool: searchTool})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	engines <- struct{}{}
	t.Cleanup(func() { <-engines })
	configuration := model.Configuration()
	maps.Copy(configuration, map[string]any{"tools": map[string]any{executeTool: false}})
	r := newReal(t, testkit.RealEngineWith(t, configuration), stack.Options{})
	reader := diagnosis.NewReader(diagnosis.Params{
		Store: r.Store, Resolver: desired.NewResolver(r.Store, r.Keys.MAC()), Connections: r.Connections,
		EngineTimeout: unhurried, EndpointTimeout: time.Minute, Build: buildinfo.Read(),
	})
	t.Cleanup(reader.Close)
	for _, tc := range deniedCases {
		want := r.want(endpoint.URL())
		want.Expected = []string{"search_capabilities", "execute_capability"}
		require.NoError(t, os.WriteFile(filepath.Join(want.Directory, "opencode.json"), []byte(tc.file), 0o600))
		key, _ := r.deliver(want)

		document, err := reader.Read(t.Context(), key, diagnosis.Options{Provider: simulator.ModelProvider, Model: simulator.ModelID})
		require.NoError(t, err, tc.claim)
		require.Equal(t, tc.want, denialsOf(document), tc.claim)
		require.Empty(t, document.ToolDeniesUnknown, tc.claim)
		require.Equal(t, tc.want == "", document.Usable, tc.claim)
		require.Equal(t, tc.want == "", *document.UsableByCurrentModel, tc.claim)
		require.True(t, *document.Tools.ProviderProjection.ToolCalling, tc.claim)
		require.Equal(t, diagnosis.ExpectedEngineVersion, *document.Compatibility.OpenCode.ActualVersion)

		r.requireCallable(model, key, !strings.Contains(tc.want, searchTool), tc.claim)
	}
	r.requireRefusedFile(reader, r.want(endpoint.URL()))
}

func denialsOf(d diagnosis.Document) string {
	told := make([]string, 0, len(d.ToolDenies))
	for _, denied := range d.ToolDenies {
		told = append(told, fmt.Sprintf("%s %s %s", denied.Matched, denied.Source, denied.Style))
	}
	return strings.Join(told, ", ")
}

// requireCallable has the model call search, where it is offered.
func (r *realStack) requireCallable(model *simulator.Model, key delivery.Key, callable bool, claim string) {
	r.t.Helper()
	user := testkit.NewEngineUser(r.t, r.engine.BaseURL(), key.Directory)
	session, err := user.Session(r.t.Context())
	require.NoError(r.t, err, claim)
	turn, err := user.Turn(r.t.Context(), session, claim)
	require.NoError(r.t, err, claim)
	// A request that offers nothing at all is no turn to the model.
	offered := slices.ContainsFunc(model.Turns(), func(seen simulator.ModelTurn) bool {
		return seen.Prompt == claim && slices.Contains(seen.Offered, searchTool)
	})
	went := len(turn.Calls) > 0 && turn.Calls[0].OK()
	require.Equal(r.t, callable, went, "%s: offered %t, calls %v", claim, offered, turn.Calls)
	require.False(r.t, callable && !offered, claim)
}

// requireRefusedFile holds that a file which the engine cannot use is named, whatever it was meant to deny.
func (r *realStack) requireRefusedFile(reader *diagnosis.Reader, want stack.Want) {
	r.t.Helper()
	file := filepath.Join(want.Directory, "opencode.json")
	require.NoError(r.t, os.WriteFile(file, []byte(`{"tools":{"deny":["cloud_*"]}}`), 0o600))
	document, err := reader.Read(r.t.Context(), r.Put(want), diagnosis.Options{})
	require.NoError(r.t, err)
	require.Equal(r.t, health.CodeSyncFailed, document.FirstFailure.Code)
	require.Len(r.t, document.ToolDeniesUnknown, 1)
	require.Contains(r.t, document.ToolDeniesUnknown[0].Reason, file)
}
