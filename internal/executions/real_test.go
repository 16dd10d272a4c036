package executions_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	simulated "github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// behind is a gateway before a real MCP server, with a worker of its own.
func behind(t *testing.T) (*rig, *simulated.Server) {
	t.Helper()
	server, err := simulated.Start(simulated.Options{HonoursKey: true})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "sources.json")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"mcpServers":{"up":{"url":%q}}}`, server.URL()), 0o600))
	sources, err := catalog.New(catalog.Params{File: file, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(sources.Close)
	queue := "behind-" + t.Name()
	w, err := startWorker(queue, sources)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	r := newRig(t, func(p *executions.Params) {
		p.Catalog, p.Workflows = sources, execution.NewClient(world.temporal, queue)
	})
	r.allow(policy.Rule{Pattern: "up.put", Effect: policy.Ask, ModelMayAnswer: true}, policy.Rule{Pattern: "up.ask_twice", Effect: policy.Ask, ModelMayAnswer: true},
		policy.Rule{Pattern: "up.big", Effect: policy.Ask, ModelMayAnswer: true}, policy.Rule{Pattern: "up.add", Effect: policy.Allow})
	return r, server
}

func (r *rig) makes(tool string, arguments string) executions.Report {
	r.t.Helper()
	report, err := r.Execute(r.t.Context(), r.who, executions.Call{Address: "up." + tool, Arguments: json.RawMessage(arguments), Request: "call-" + tool})
	require.NoError(r.t, err)
	return report
}

func TestCallsOfARealServerTakeTheirWays(t *testing.T) {
	t.Parallel()
	r, server := behind(t)
	require.Contains(t, string(r.makes("echo", `{"text":"hello"}`).Result), "hello")

	for range 2 {
		report := r.makes("add", `{"name":"n","value":"1"}`)
		require.Equal(t, approval.OutcomeCompleted, report.Outcome.Kind)
	}
	require.Equal(t, 1, server.Counts().Effects["n"], "an allowed write of one name is made once")

	paused := r.makes("put", `{"name":"p","value":"1"}`)
	require.Equal(t, executions.StatusPaused, paused.Status)
	require.Zero(t, server.Counts().Effects["p"])
	for range 2 {
		report := r.resume(r.who, paused.Pause.ID, approval.ActionAccept)
		require.Equal(t, approval.OutcomeCompleted, report.Outcome.Kind)
	}
	require.Equal(t, 1, server.Counts().Effects["p"])
	for name, count := range server.Counts().Keys {
		require.Equal(t, 1, count, name)
	}
}

// case 24, by a server that asks over its own connection
func TestARealServerAsksTwice(t *testing.T) {
	t.Parallel()
	r, server := behind(t)
	report := r.makes("ask_twice", `{}`)
	for _, content := range []string{``, `{"value":"Ada"}`, `{"value":"blue"}`} {
		require.Equal(t, executions.StatusPaused, report.Status)
		var err error
		report, err = r.Resume(t.Context(), r.who, executions.Answer{
			ID: report.Pause.ID, Action: approval.ActionAccept, Content: json.RawMessage(content),
		})
		require.NoError(t, err)
	}
	require.Contains(t, string(report.Result), "Ada likes blue")
	require.Equal(t, 1, server.Counts().Effects["Ada"])
}

func TestAResultOfTenMebibytesPassesAGate(t *testing.T) {
	t.Parallel()
	r, _ := behind(t)
	const size = 10 << 20
	report := r.makes("big", fmt.Sprintf(`{"bytes":%d}`, size))
	report = r.resume(r.who, report.Pause.ID, approval.ActionAccept)
	require.Equal(t, approval.OutcomeCompleted, report.Outcome.Kind)
	require.Greater(t, len(report.Result), size)
	require.Equal(t, len(report.Result), report.Outcome.Bytes)
	var parsed struct{ Content []struct{ Text string } }
	require.NoError(t, json.Unmarshal(report.Result, &parsed))
	require.Len(t, parsed.Content[0].Text, size)
}
