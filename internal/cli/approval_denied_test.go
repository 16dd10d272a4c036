package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

func TestWhatTheRulesHaveComeToDenyIsNotApprovedByTheCommandLine(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asks()
	l.runs.fault = execution.ErrUnavailable // whatever is sent to the run shows
	l.environ = append(l.environ, "HOLDFAST_POLICY_FILE="+l.file("policy.yaml", "rules:\n  - {pattern: \"*\", effect: deny}\n"))
	require.Equal(t, cli.ExitError, l.run("approval", "approve", pauseID))
	require.Contains(t, l.stderr.String(), "is blocked by rule 1")
	require.Contains(t, l.stderr.String(), "declined or cancelled")
	require.Equal(t, cli.ExitError, l.run("approval", "decline", pauseID))
	require.Contains(t, l.stderr.String(), "no worker runs", "a no is sent")

	// A file that cannot be read keeps nobody from deciding: the worker asks its own rules.
	l.environ = append(l.environ, "HOLDFAST_POLICY_FILE="+l.file("policy.yaml", "rules: 7\n"))
	require.Equal(t, cli.ExitError, l.run("approval", "approve", pauseID))
	require.Contains(t, l.stderr.String(), "no worker runs")
}
