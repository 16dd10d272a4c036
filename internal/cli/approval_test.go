package cli_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// approvalRow is what of an approval the tests look at.
type approvalRow struct {
	ID, Execution, Address, State, Account, Organisation, Client, Outcome string
	Arguments                                                             map[string]any
	Decision                                                              *struct{ Action, By, Via, Reason string }
}

// callRow is what of a call's answer the tests look at.
type callRow struct {
	Approval, Execution, Status, Text string
	Outcome                           *struct{ Kind string }
	Decision                          *struct{ Action, By string }
	IsError                           bool
}

func TestWhatWaitsIsListedAndShownWithoutTemporal(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Zero(t, l.run("approval", "list"))
	require.Contains(t, l.stderr.String(), "nothing waits")
	l.asks()
	require.Zero(t, l.run("approval", "list"))
	require.Contains(t, l.stdout.String(), pauseID)
	require.Contains(t, l.stdout.String(), "agent 1.0")
	require.Contains(t, l.stdout.String(), "3h59m")
	for args, n := range map[string]int{
		"": 1, "--state all": 1, "--state closed": 0, "--execution " + executionKey: 1, "--session none": 0, "--organisation acme": 1,
		"--organisation other": 0,
	} {
		require.Zero(t, l.run(append([]string{"approval", "list", "-o", "json"}, strings.Fields(args)...)...))
		require.Len(t, document[[]approvalRow](l), n, args)
	}
	for _, id := range []string{pauseID, executionKey} {
		require.Zero(t, l.run("approval", "show", id, "-o", "json"), l.stderr)
		shown := document[approvalRow](l)
		require.Equal(t, pauseID, shown.ID)
		require.Equal(t, "waiting", shown.State)
		require.Equal(t, "you", shown.Arguments["to"])
		require.NotContains(t, l.stdout.String(), "canary")
	}
	require.Zero(t, l.run("approval", "show", pauseID))
	for _, said := range []string{"Approve demo.send?", "rule 1: demo.*", `"to": "you"`, "ann of acme"} {
		require.Contains(t, l.stdout.String(), said)
	}
	require.Contains(t, l.stderr.String(), "holdfast approval approve "+pauseID)
	require.NotContains(t, l.stdout.String(), "canary")
	require.Empty(t, l.dialled)
}

func TestAnApprovalIsDecidedAndItsOutcomePrinted(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.environ = append(l.environ, "USER=ann")
	l.asks()
	for range 2 { // the same again is harmless
		require.Zero(t, l.run("approval", "approve", pauseID, "--reason", "fine"), l.stderr)
		require.Equal(t, "sent to you\n", l.stdout.String())
		require.Contains(t, l.stderr.String(), "completed")
	}
	require.Len(t, l.runs.asked, 1)
	decision := l.runs.asked[0].Decision
	require.Equal(t, approval.ActionAccept, decision.Action)
	require.Equal(t, "cli:ann", decision.By)
	require.Equal(t, approval.ViaCLI, decision.Via)
	require.Equal(t, "fine", decision.Reason)

	require.Equal(t, cli.ExitError, l.run("approval", "decline", pauseID))
	require.Contains(t, l.stderr.String(), "it was approved by cli:ann")
	require.Zero(t, l.run("approval", "show", pauseID))
	require.Contains(t, l.stdout.String(), "cli:ann (cli)")
}

func TestEachDecisionLeadsToItsOutcomeAndExitCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		args    []string
		prepare func(*line)
		code    int
		outcome string
	}{
		{"approve", []string{"approve", executionKey}, nil, cli.ExitOK, "completed"},
		{"approve with values", []string{"approve", pauseID, "--content", `{"pin":"1"}`}, nil, cli.ExitOK, "completed"},
		{"decline", []string{"decline", pauseID}, nil, cli.ExitOK, "declined"},
		{"cancel", []string{"cancel", pauseID}, nil, cli.ExitOK, "cancelled"},
		{"the tool fails", []string{"approve", pauseID}, func(l *line) { l.runs.toolError = true }, cli.ExitError, "completed"},
		{"not known in time", []string{"approve", pauseID, "--wait", "50ms"}, func(l *line) { l.runs.slow = true }, cli.ExitNotReady, ""},
		{"not waited for", []string{"approve", pauseID, "--wait", "0s"}, func(l *line) { l.runs.slow = true }, cli.ExitOK, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			l.asks()
			if tc.prepare != nil {
				tc.prepare(l)
			}
			require.Equal(t, tc.code, l.run(append([]string{"approval", "-o", "json"}, tc.args...)...), l.stderr)
			got := document[callRow](l)
			require.Equal(t, pauseID, got.Approval)
			require.Equal(t, executionKey, got.Execution)
			if tc.outcome == "" {
				require.Nil(t, got.Outcome)
				require.Equal(t, "pending", got.Status)
				return
			}
			require.Equal(t, tc.outcome, got.Outcome.Kind)
		})
	}
}

func TestWhoeverSaysNoReadsThatItIsDone(t *testing.T) {
	t.Parallel()
	for verb, said := range map[string]string{"decline": "Declined: ", "cancel": "Cancelled: "} {
		l := prepared(t)
		l.asks()
		require.Zero(t, l.run("approval", verb, pauseID), l.stderr)
		require.Equal(t, said+toolAddress+" was not called.\n", l.stdout.String())
		require.Zero(t, l.run("execution", "get", pauseID))
		require.Contains(t, l.stdout.String(), "Error: ", "what the call's client is told")
	}
}

func TestWhatCannotBeDecidedSaysWhy(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	unknown := strings.Repeat("0", 32)
	for _, args := range [][]string{{"approval", "approve", unknown}, {"approval", "show", unknown}, {"execution", "get", unknown}, {"execution", "cancel", unknown}} {
		require.Equal(t, cli.ExitNotFound, l.run(args...))
		require.Contains(t, l.stderr.String(), "holdfast execution list")
	}
	l.asks()
	require.Equal(t, cli.ExitNotFound, l.run("approval", "approve", approval.PauseID(executionKey, 2)))
	l.runs.fault = execution.ErrUnavailable
	require.Equal(t, cli.ExitError, l.run("approval", "approve", pauseID))
	require.Contains(t, l.stderr.String(), "no worker runs")
	l.runs.fault = nil
	l.store(func(st *store.Store) {
		row, err := st.Pause(t.Context(), pauseID)
		require.NoError(t, err)
		row.Expired = true
		require.NoError(t, st.RecordDecided(t.Context(), row.Pause, []store.ExecutionEvent{{Key: executionKey, Seq: 2, Kind: store.EventDecided, Pause: 1, At: noon}}))
	})
	require.Equal(t, cli.ExitError, l.run("approval", "approve", pauseID))
	require.Contains(t, l.stderr.String(), "nobody decided in time")
}

func TestARunThatIsGoneIsClosedByWhoeverDecides(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"30s", "0s"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			l.asks()
			l.runs.fault = execution.ErrNotFound
			require.Equal(t, cli.ExitError, l.run("approval", "approve", pauseID, "--wait", wait))
			require.Contains(t, l.stdout.String()+l.stderr.String(), "its run is gone from Temporal")
			require.Contains(t, l.stdout.String()+l.stderr.String(), "the tool was not called: make the call again")
			require.Zero(t, l.run("approval", "list", "-o", "json"))
			require.Empty(t, document[[]approvalRow](l))
			require.Zero(t, l.run("execution", "list", "--state", "failed", "-o", "json"))
			require.Len(t, document[[]struct{ Key string }](l), 1)
		})
	}
}

func TestApprovalsAreWatched(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asks()
	out, done := &buffer{}, make(chan int, 1)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() { done <- watch(ctx, l, out, "approval", "list", "--watch", "-o", "json") }()
	lines := func() []approvalRow {
		var rows []approvalRow
		for text := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
			var row approvalRow
			if json.Unmarshal([]byte(text), &row) == nil {
				rows = append(rows, row)
			}
		}
		return rows
	}
	testkit.Eventually(t, time.Minute, func() bool { return len(lines()) == 1 }, "what waits is shown")
	require.Equal(t, "waiting", lines()[0].State)
	require.Zero(t, l.run("approval", "decline", pauseID, "--reason", "no"))
	testkit.Eventually(t, time.Minute, func() bool { return len(lines()) >= 2 && lines()[1].State == "declined" }, "the decision is shown")
	end()
	require.Zero(t, <-done)
}

func TestAWatchEndsWithItsTime(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asks()
	require.Zero(t, l.run("approval", "list", "--watch", "--timeout", "200ms"))
	require.Contains(t, l.stdout.String(), pauseID)
}
