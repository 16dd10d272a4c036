package catalog_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

var processPattern = regexp.MustCompile(`pid (\d+), (.*), "(.*)"`)

func openChild(t *testing.T) *catalog.Sources {
	t.Helper()
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"up": map[string]any{
		"command": os.Args[0], "env": map[string]string{childVariable: "1", "GIVEN": "${VALUE}"}, "cwd": t.TempDir(),
	}}})
	require.NoError(t, err)
	sources := openFile(t, string(file), func(p *catalog.Params) {
		p.Lookup = func(string) (string, bool) { return "value", true }
	})
	require.NoError(t, sources.Refresh(t.Context(), ""))
	return sources
}

func who(t *testing.T, sources *catalog.Sources) []string {
	t.Helper()
	found := processPattern.FindStringSubmatch(textOf(t, call(t, sources, "who", nil)))
	require.Len(t, found, 4)
	return found[1:]
}

func TestAChildProcessIsASource(t *testing.T) {
	t.Setenv("HOLDFAST_SECRET", "s3cr3t")
	sources := openChild(t)
	require.Equal(t, "stdio", sources.Status()[0].Transport)
	require.Equal(t, []string{"up.ask", "up.die", "up.who"}, addresses(t, sources))
	first := who(t, sources)
	require.Equal(t, "value", first[1])
	require.Empty(t, first[2], "it sees no variable of ours")
	require.Equal(t, first, who(t, sources), "it is one process")

	result, err := sources.Call(t.Context(), catalog.CallRequest{
		Address: "up.ask", Elicit: func(_ context.Context, r approval.Request) (approval.Decision, error) {
			require.Equal(t, "Well?", r.Message)
			return approval.Decision{Action: approval.ActionDecline}, nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, "decline", textOf(t, result))
	require.Equal(t, first, who(t, sources))
}

func TestAChildProcessThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	sources := openChild(t)
	first := who(t, sources)
	failed := fault(t, sources, catalog.CallRequest{Address: "up.die"})
	require.Equal(t, catalog.CodeUnreachable, failed.Code)
	require.True(t, failed.Unknown())
	require.NotEqual(t, first[0], who(t, sources)[0])
}

func TestWhatAChildProcessComplainsOfIsLoggedRedacted(t *testing.T) {
	t.Parallel()
	log := &logText{}
	sources := openFile(t, `{"mcpServers":{"up":{"command":"sh","args":["-c","echo cannot start: token=s3cr3tvalue123456 >&2; exit 1"]}}}`,
		func(p *catalog.Params) { p.Log = log.logger() })
	require.Error(t, sources.Refresh(t.Context(), "up"))
	testkit.Eventually(t, time.Minute, func() bool { return strings.Contains(log.String(), "cannot start") }, "the complaint is logged")
	require.NotContains(t, log.String(), "s3cr3tvalue")
}

func TestACommandThatCannotBeStartedIsNotSent(t *testing.T) {
	t.Parallel()
	sources := openFile(t, `{"mcpServers":{"up":{"command":"/nowhere/s3cr3t"}}}`, nil)
	require.Error(t, sources.Refresh(t.Context(), "up"))
	require.Equal(t, catalog.CodeUnreachable, sources.Status()[0].Code)
}
