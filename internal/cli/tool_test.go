package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// tooled has a source demo, and rules.
func tooled(t *testing.T, rules string) (*line, *upstream.Server) {
	t.Helper()
	server, err := upstream.Start(upstream.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	l := prepared(t)
	l.environ = append(l.environ, "USER=ann", "DEMO="+server.URL(),
		"HOLDFAST_SOURCES_FILE="+l.file("sources.json", `{"mcpServers":{"demo":{"url":"${DEMO}"}}}`),
		"HOLDFAST_POLICY_FILE="+l.file("policy.yaml", rules))
	return l, server
}

func TestToolsAreFoundWithWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	l, _ := tooled(t, "rules:\n  - {pattern: demo.add, effect: deny}\n")
	require.Zero(t, l.run("tool", "search", "-o", "json"), l.stderr)
	effects := map[string]string{}
	for _, tool := range document[[]struct{ Address, Effect string }](l) {
		effects[tool.Address] = tool.Effect
	}
	require.Equal(t, "allow", effects["demo.echo"])
	require.Equal(t, "ask", effects["demo.put"])
	require.Equal(t, "deny", effects["demo.add"])
	require.Zero(t, l.run("tool", "search", "answers", "text", "--limit", "1"))
	require.Contains(t, l.stdout.String(), "demo.echo")
	require.NotContains(t, l.stdout.String(), "demo.put")
	require.Zero(t, l.run("tool", "search", "zebra"))
	require.Contains(t, l.stderr.String(), "no tool is like that")
	require.Empty(t, l.dialled)
}

func TestAnAllowedToolIsCalledWithoutTemporal(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "")
	l.dialFault = &temporalclient.DialError{Address: "here"}
	require.Zero(t, l.run("tool", "call", "demo.echo", "--arg", "text=12"), l.stderr)
	require.Contains(t, l.stdout.String(), "12", "text by the schema, though it looks like a number")
	require.Equal(t, 1, server.Counts().Calls[upstream.Echo])
	require.Zero(t, l.run("audit", "list", "-o", "json"))
	lines := document[[]struct{ Action, Address, Via, Principal, Outcome string }](l)
	require.Len(t, lines, 1)
	require.Equal(t, "demo.echo", lines[0].Address)
	require.Equal(t, "cli:ann", lines[0].Principal)

	require.Equal(t, cli.ExitError, l.run("tool", "call", "demo.put", "--arg", "name=x"))
	require.Contains(t, l.stderr.String(), "no answer from Temporal")
	require.Zero(t, server.Counts().Calls[upstream.Put])
}

func TestAGatedToolWaitsForAPersonUnlessItIsToldYes(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "")
	require.Equal(t, cli.ExitNotReady, l.run("tool", "call", "demo.put", "--json", `{"name":"x"}`, "--arg", `value={"a":1}`), l.stderr)
	require.Contains(t, l.stderr.String(), "holdfast approval show exec_")
	require.Empty(t, l.stdout.String())
	require.Len(t, l.runs.started, 1)
	require.False(t, l.runs.started[0].AutoApprove)
	require.Equal(t, approval.Identity{Account: "cli:ann", Organisation: "default"}, l.runs.started[0].Identity)

	require.Zero(t, l.run("tool", "call", "demo.put", "--arg", "name=x", "--auto-approve", "-o", "json"), l.stderr)
	require.True(t, l.runs.started[1].AutoApprove)
	require.Equal(t, "completed", document[callRow](l).Outcome.Kind)
	require.Zero(t, server.Counts().Calls[upstream.Put], "it is for a worker to call")
}

func TestACallWaitsForThePersonWhereItIsAskedTo(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]struct {
		code int
		kind string
	}{"approve": {cli.ExitOK, "completed"}, "decline": {cli.ExitError, "declined"}} {
		t.Run(verdict, func(t *testing.T) {
			t.Parallel()
			l, _ := tooled(t, "")
			out, done := &buffer{}, make(chan int, 1)
			go func() {
				done <- watch(t.Context(), l, out, "tool", "call", "demo.put", "--arg", "name=x", "--wait", "5m", "-o", "json")
			}()
			var waiting []approvalRow
			testkit.Eventually(t, time.Minute, func() bool {
				require.Zero(t, l.run("approval", "list", "-o", "json"), l.stderr)
				waiting = document[[]approvalRow](l)
				return len(waiting) == 1
			}, "the call waits")
			require.Empty(t, done)
			require.Zero(t, l.run("approval", verdict, waiting[0].ID), l.stderr)
			require.Equal(t, want.code, <-done)
			var got callRow
			require.NoError(t, json.Unmarshal([]byte(out.String()), &got))
			require.Equal(t, want.kind, got.Outcome.Kind)
		})
	}
}

func TestACallThatNobodyDecidesInItsWaitSaysWhereToDecide(t *testing.T) {
	t.Parallel()
	l, _ := tooled(t, "")
	require.Equal(t, cli.ExitNotReady, l.run("tool", "call", "demo.put", "--arg", "name=x", "--wait", "1s"))
	require.Regexp(t, "holdfast (approval show|execution get) exec_", l.stderr.String())
	require.Equal(t, cli.ExitUsage, l.run("tool", "call", "demo.put", "--arg", "name=x", "--wait", "6m"))
	require.Contains(t, l.stderr.String(), "--wait must be 0s to 5m")
}

func TestTheToolsOfARunningDevAreTakenWhereNoneAreNamed(t *testing.T) {
	t.Parallel()
	server, err := upstream.Start(upstream.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	l := prepared(t)
	info, err := json.Marshal(cli.DevInfo{
		Temporal: "127.0.0.1:1", PID: os.Getpid(), Rules: l.file("policy.yaml", "rules:\n  - {pattern: demo.put, effect: allow}\n"),
		Sources: l.file("sources.json", fmt.Sprintf(`{"mcpServers":{"demo":{"url":%q}}}`, server.URL())),
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(l.dataDir, cli.DevInfoFile), info, 0o600))
	require.Zero(t, l.run("tool", "call", "demo.put", "--arg", "name=x"), l.stderr)
	require.Equal(t, 1, server.Counts().Effects["x"])
}

func TestACallIsMadeOnceUnderItsKey(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "rules:\n  - {pattern: demo.add, effect: allow}\n")
	for range 2 {
		require.Zero(t, l.run("tool", "call", "demo.add", "--arg", "name=x", "--idempotency-key", "k1"), l.stderr)
	}
	require.Equal(t, cli.ExitUsage, l.run("tool", "call", "demo.add", "--arg", "name=y", "--idempotency-key", "k1"))
	require.Contains(t, l.stderr.String(), "another call was made under this name: use a new one")
	require.Equal(t, 1, server.Counts().Effects["x"])
}

func TestACallThatCannotBeMadeSaysWhy(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "rules:\n  - {pattern: demo.add, effect: deny}\n")
	for _, tc := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"demo.ecko"}, cli.ExitNotFound, "did you mean demo.echo"},
		{[]string{"zebra"}, cli.ExitNotFound, "holdfast tool search"},
		{[]string{"demo.add", "--arg", "name=x", "--auto-approve"}, cli.ExitError, "blocked by rule 1"},
		{[]string{"demo.echo"}, cli.ExitUsage, "text"},
		{[]string{"demo.echo", "--arg", "text"}, cli.ExitUsage, "NAME=VALUE"},
		{[]string{"demo.echo", "--json", "[]"}, cli.ExitUsage, "JSON object"},
		{[]string{"demo.echo", "--wait", "-1s"}, cli.ExitUsage, "--wait"},
		{[]string{}, cli.ExitUsage, "one tool"},
		{[]string{"demo.fail", "--arg", "how=tool"}, cli.ExitError, "the tool answered with an error"},
	} {
		require.Equal(t, tc.code, l.run(append([]string{"tool", "call"}, tc.args...)...), "%v: %s", tc.args, l.stderr)
		require.Contains(t, l.stderr.String(), tc.says, tc.args)
	}
	require.Zero(t, server.Counts().Calls[upstream.Add])
	require.Zero(t, server.Counts().Calls[upstream.Echo])

	none := prepared(t)
	require.Equal(t, cli.ExitError, none.run("tool", "search"))
	require.Contains(t, none.stderr.String(), "sources.file")
	l.file("policy.yaml", "rules: [{pattern: '', effect: maybe}]")
	require.Equal(t, cli.ExitError, l.run("tool", "search"))
	require.Contains(t, l.stderr.String(), "policy.yaml")
	server.Close()
	l.file("policy.yaml", "")
	require.Zero(t, l.run("tool", "search"))
	require.Contains(t, l.stderr.String(), "the tools of demo are not known")
}

func TestArgumentsAreWhatTheyLookLikeWhereTheSchemaIsSilent(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "rules:\n  - {pattern: 'demo.*', effect: allow}\n")
	require.Zero(t, l.run("tool", "call", "demo.big", "--arg", "bytes=3"), l.stderr)
	require.Zero(t, l.run("tool", "call", "demo.put", "--json", `{"name":"a","value":"1"}`, "--arg", "value=true", "-o", "json"), l.stderr)
	require.Equal(t, "true", server.Counts().Values["a"], fmt.Sprint(server.Counts()))
	var got struct{ Structured json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(l.stdout.String()), &got))
	require.NotEmpty(t, got.Structured)
}

func TestASourceThatCannotBeAskedIsToldByDoctorAndByWhoeverCallsIt(t *testing.T) {
	t.Parallel()
	l, server := tooled(t, "rules:\n  - {pattern: demo.add, effect: deny}\n")
	l.environ = append(l.environ, "HOLDFAST_SOURCES_FILE="+l.file("both.json",
		`{"mcpServers":{"demo":{"url":"${DEMO}"},"gone":{"url":"http://127.0.0.1:1/mcp"},"none":{"command":"/nowhere/none"}}}`))
	down(l)
	require.Equal(t, cli.ExitError, l.run("doctor", "-o", "json"))
	says := map[string]string{}
	for _, one := range document[diagnosis](l).Findings {
		says[one.Subject] = one.Level + ": " + one.Message + " " + one.Action
	}
	require.Contains(t, says["rules"], "ok: 1 rule can be read")
	require.Contains(t, says["source demo"], "ok: ")
	require.Contains(t, says["source gone"], "fail: its tools are not known: it cannot be reached or started start it, or correct mcpServers.gone.url")
	require.Contains(t, says["source none"], "run the command of mcpServers.none by hand")

	require.Equal(t, cli.ExitError, l.run("tool", "call", "gone.away"))
	require.Contains(t, l.stderr.String(), "the tools of gone are not known: it cannot be reached or started; see: holdfast doctor")
	require.Equal(t, cli.ExitUsage, l.run("tool", "call", "demo.echo", `{"text":"x"}`))
	require.Contains(t, l.stderr.String(), "--arg NAME=VALUE or --json OBJECT")
	require.Zero(t, server.Counts().Calls[upstream.Echo])

	l.file("policy.yaml", "rules:\n  - {pattern: demo.add, effect: denny}\n")
	require.Equal(t, cli.ExitError, l.run("doctor"))
	require.Contains(t, l.stdout.String(), "rules[0].effect: give allow, ask or deny")
}
