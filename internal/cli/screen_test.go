package cli_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// rude acts on a terminal, or turns text around. Its first and last letters are to be read.
var rude = func() string {
	all := strings.Builder{}
	all.WriteString("canary \x1b[2J\x1b]0;title\a\b\rover\x7f\v\f")
	for r := rune(0x80); r <= 0x9f; r++ {
		all.WriteRune(r)
	}
	all.WriteString("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\ufeff\U000e0041 end")
	return all.String()
}()

// requireCivil holds where everything is shown, and nothing acts.
func (l *line) requireCivil(streams ...*buffer) {
	l.t.Helper()
	for _, stream := range streams {
		said := stream.String()
		require.Contains(l.t, said, "canary")
		require.Contains(l.t, said, " end")
		for _, shown := range []string{`\u001b[2J`, `\u0007`, `\u000dover`, `\u007f`, `\u009b`, `\u202e`, `\u2069`, `\u200f`, `\ufeff`, `\udb40\udc41`} {
			if shown == `\u000dover` && l.json(said) {
				shown = `\rover`
			}
			require.Contains(l.t, said, shown)
		}
	}
	for _, stream := range []*buffer{l.stdout, l.stderr} {
		for _, r := range stream.String() {
			hidden := r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
			require.Falsef(l.t, hidden, "%U in %q", r, stream)
		}
	}
}

func (l *line) json(said string) bool { return json.Valid([]byte(said)) }

// asksRudely puts an execution whose every text is rude.
func (l *line) asksRudely() {
	l.t.Helper()
	arguments, err := json.Marshal(map[string]string{"to": rude})
	require.NoError(l.t, err)
	row := store.Execution{
		Key: executionKey, Identity: approval.Identity{Account: "ann", Organisation: "acme"}, Session: sessionID, Mode: approval.ModeModel,
		Resource: "default", Client: rude, Address: toolAddress, Arguments: arguments, Digest: "d1", Policy: "p1", CreatedAt: time.Now(), Status: "running",
	}
	l.store(func(st *store.Store) {
		_, _, err := st.PutExecution(l.t.Context(), row)
		require.NoError(l.t, err)
		l.pause(st, row, approval.Request{Kind: approval.KindGate, Message: rude, Reason: rude})
		require.NoError(l.t, st.PutAudit(l.t.Context(), store.Audit{
			At: time.Now(), Identity: row.Identity, Principal: "ann", Name: rude, Via: "api", Action: "decline", Execution: row.Key,
			Address: row.Address, Reason: rude,
		}))
	})
}

// settleRudely lets a person decide in rude words, and the upstream answer so.
func (l *line) settleRudely(action approval.Action, outcome approval.Outcome) {
	l.t.Helper()
	l.store(func(st *store.Store) {
		row, err := st.Pause(l.t.Context(), pauseID)
		require.NoError(l.t, err)
		row.Decision = &approval.Decision{Action: action, By: "ann", Via: approval.ViaAPI, At: time.Now(), Reason: rude}
		require.NoError(l.t, st.RecordDecided(l.t.Context(), row.Pause, nil))
		require.NoError(l.t, st.RecordOutcome(l.t.Context(), store.Ending{
			Key: executionKey, Retained: time.Now().Add(time.Hour), Outcome: outcome,
		}))
	})
}

func TestWhatOthersWroteDoesNotActOnATerminal(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.asksRudely()
	shown := func(args ...string) {
		for _, format := range []string{"table", "json"} {
			require.Zero(t, l.run(append(args, "-o", format)...), l.stderr)
			l.requireCivil(l.stdout)
			require.Equal(t, format == "json", l.json(l.stdout.String()))
		}
	}
	shown("approval", "show", pauseID)
	shown("approval", "list")
	shown("audit", "list")
	shown("execution", "get", executionKey)
	l.settleRudely(approval.ActionAccept, approval.Outcome{
		Kind: approval.OutcomeFailed, Calls: 1, Code: "upstream_refused", Message: rude, At: time.Now(),
	})
	shown("approval", "show", pauseID)
	shown("execution", "get", executionKey)
	require.Zero(t, l.run("approval", "show", pauseID, "-o", "json"))
	var detail struct {
		Arguments map[string]string
		Decision  struct{ Reason string }
	}
	require.NoError(t, json.Unmarshal([]byte(l.stdout.String()), &detail))
	require.Equal(t, rude, detail.Arguments["to"], "a program reads what was written")
	require.Equal(t, rude, detail.Decision.Reason)

	require.Equal(t, cli.ExitUsage, l.run("approval", "show", pauseID, "--"+rude))
	l.requireCivil(l.stderr)

	declined := prepared(t)
	declined.asksRudely()
	declined.settleRudely(approval.ActionDecline, approval.Outcome{Kind: approval.OutcomeDeclined, At: time.Now()})
	require.Equal(t, cli.ExitError, declined.run("execution", "cancel", executionKey))
	declined.requireCivil(declined.stderr)
}

func TestWhatAToolAnswersDoesNotActOnATerminal(t *testing.T) {
	t.Parallel()
	l, _ := tooled(t, "")
	require.Zero(t, l.run("tool", "call", "demo.echo", "--arg", "text="+rude+"\n\tnext"), l.stderr)
	l.requireCivil(l.stdout)
	require.Contains(t, l.stdout.String(), " end\n\tnext\n", "line breaks and tabs are left")
	require.Zero(t, l.run("tool", "call", "demo.echo", "--arg", "text="+rude, "-o", "json"), l.stderr)
	l.requireCivil(l.stdout)
	require.Contains(t, document[struct{ Text string }](l).Text, rude)
}
