package cli_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	mcpsession "github.com/holdfast-mcp/holdfast/workflows/session"
)

func TestExecutionsAreListedAndShown(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("execution", "list"))
	require.Contains(t, l.stderr.String(), "no execution is like that")
	l.asks()
	for args, n := range map[string]int{
		"": 1, "--state waiting": 1, "--state completed": 0, "--tool " + toolAddress: 1, "--tool demo.read": 0, "--session " + sessionID: 1,
		"--organisation other": 0,
	} {
		require.Zero(t, l.run(append([]string{"execution", "list", "-o", "json"}, strings.Fields(args)...)...), l.stderr)
		require.Len(t, document[[]struct{ Key string }](l), n, args)
	}
	require.Zero(t, l.run("execution", "get", pauseID))
	require.Contains(t, l.stdout.String(), "Execution paused: Approve demo.send?")
	require.NotContains(t, l.stdout.String(), "canary")
	require.Empty(t, l.dialled)

	require.Zero(t, l.run("approval", "approve", pauseID))
	require.Zero(t, l.run("execution", "get", executionKey, "-o", "json"))
	got := document[struct {
		Key, Status, Text, WorkflowID string
		Outcome                       struct{ Kind string }
		Approvals                     []struct{ ID, State string }
	}](l)
	require.Equal(t, "completed", got.Status)
	require.Equal(t, "sent to you", got.Text)
	require.Equal(t, "approved", got.Approvals[0].State)
	require.Equal(t, "execution:"+executionKey, got.WorkflowID)
	require.Zero(t, l.run("execution", "list"))
	require.Contains(t, l.stdout.String(), "completed")
}

func TestAnOutcomeIsWaitedFor(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asks()
	require.Equal(t, cli.ExitUsage, l.run("execution", "get", pauseID, "--wait", "6m"))
	require.Equal(t, cli.ExitNotReady, l.run("execution", "get", pauseID, "--wait", "10ms"))
	require.Contains(t, l.stdout.String(), "Execution paused")
	require.Contains(t, l.stderr.String(), "holdfast approval show "+pauseID)
	code := make(chan int, 1)
	go func() { code <- l.run("execution", "get", pauseID, "--wait", "1m") }()
	l.store(func(st *store.Store) { l.runs.end(st, executionKey, approval.ActionAccept) })
	require.Zero(t, <-code, l.stderr)
	require.Contains(t, l.stdout.String(), "sent to you")
	require.Empty(t, l.dialled)
}

func TestAnExecutionIsCalledOffByThisCommandLine(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asks()
	require.Zero(t, l.run("execution", "cancel", pauseID, "--reason", "no more"), l.stderr)
	require.Equal(t, "Cancelled: "+toolAddress+" was not called.\n", l.stdout.String())
	require.Equal(t, "no more", l.runs.ends[0].Reason)
	require.Equal(t, approval.ViaCLI, l.runs.ends[0].Via)
	require.Zero(t, l.run("audit", "list", "--execution", executionKey, "-o", "json"))
	lines := document[[]struct{ Action, Principal, Via, Organisation, Reason string }](l)
	require.Len(t, lines, 1)
	require.Equal(t, "cancel", lines[0].Action)
	require.Equal(t, "acme", lines[0].Organisation)
	require.Equal(t, "cli", lines[0].Via)

	other := prepared(t)
	other.asks()
	require.Zero(t, other.run("approval", "approve", pauseID))
	require.Equal(t, cli.ExitError, other.run("execution", "cancel", pauseID), "it has ended otherwise")
	require.Contains(t, other.stderr.String(), "it had ended before, and stays as it is: completed")
	require.Contains(t, other.stderr.String(), "holdfast execution get "+executionKey)
	require.Empty(t, other.runs.ends)

	declined := prepared(t)
	declined.environ = append(declined.environ, "USER=ann")
	declined.asks()
	require.Zero(t, declined.run("approval", "decline", pauseID, "--reason", "not today"))
	require.Equal(t, cli.ExitError, declined.run("execution", "cancel", pauseID))
	require.Contains(t, declined.stderr.String(), "it had ended before, and stays as it is: declined by cli:ann: not today; see: ")
}

func TestSessionsAreListedShownAndEnded(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("session", "list"))
	require.Contains(t, l.stderr.String(), "/mcp")
	l.client()
	require.Zero(t, l.run("session", "list"))
	require.Contains(t, l.stdout.String(), sessionID)
	require.Empty(t, l.dialled)
	require.Zero(t, l.run("session", "get", sessionID))
	require.Contains(t, l.stdout.String(), pauseID+" until")
	for _, verb := range []string{"get", "terminate"} {
		require.Equal(t, cli.ExitNotFound, l.run("session", verb, "s3cret"))
		require.NotContains(t, l.stderr.String(), "s3cret")
	}

	l.sessions.fault = mcpsession.ErrUnavailable
	require.Zero(t, l.run("session", "get", sessionID))
	require.Contains(t, l.stderr.String(), "start a worker")
	l.dialFault = &temporalclient.DialError{Address: "here"}
	require.Zero(t, l.run("session", "get", sessionID, "-o", "json"))
	require.Contains(t, l.stderr.String(), "cannot reach Temporal")
	l.dialFault, l.sessions.fault = nil, nil

	require.Zero(t, l.run("session", "terminate", sessionID, "--reason", "lost laptop"), l.stderr)
	require.Contains(t, l.stderr.String(), "is over")
	l.sessions.fault = mcpsession.ErrNotFound
	require.Zero(t, l.run("session", "terminate", sessionID), "again is harmless")
	require.Contains(t, l.stderr.String(), "had ended before")
	require.Len(t, l.sessions.ended, 2)
	require.Equal(t, "lost laptop", l.sessions.ended[0].Reason)
	require.Zero(t, l.run("session", "list"))
	require.Empty(t, l.stdout.String())
	require.Zero(t, l.run("session", "list", "--all", "-o", "json"))
	require.Len(t, document[[]struct{ ID string }](l), 1)
	require.Zero(t, l.run("audit", "list"))
	require.Contains(t, l.stdout.String(), "session-terminate")
	require.Contains(t, l.stdout.String(), "lost laptop")
}
