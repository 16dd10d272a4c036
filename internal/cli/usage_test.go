package cli_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/cli"
)

func TestWrongUsageIsCodeTwoAndSaysWhereHelpIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		args []string
		says string
	}{
		{"unknown command", []string{"frobnicate"}, "no such command: frobnicate"},
		{"unknown command of a group", []string{"connection", "frobnicate"}, "no such command"},
		{"unknown command that may be a secret", []string{"s3cret"}, "no such command\n"},
		{"engine that is none", []string{"doctor", "--engine", "ftp://h"}, "--engine number 1"},
		{"unknown flag", []string{"connection", "list", "--frob"}, "unknown flag"},
		{"unknown format", []string{"version", "-o", "xml"}, "give table or json"},
		{"argument that is not taken", []string{"doctor", "now"}, "takes no arguments"},
		{"no address", []string{"connection", "get"}, "name the connection"},
		{"half an address", []string{"connection", "get", "acme"}, "name the connection"},
		{"two addresses", []string{"connection", "get", "a/b", "c/d"}, "one connection"},
		{"address twice", []string{"connection", "get", "a/b", "--name", "b"}, "not both"},
		{"address with two slashes", []string{"connection", "get", "a/b/c"}, "--workspace and --name"},
		{"unknown state", []string{"connection", "list", "--state", "fine"}, "--state must be one of"},
		{"unknown wait", []string{"connection", "probe", "a/b", "--wait", "soon"}, "--wait takes one value"},
		{"no time to wait", []string{"connection", "probe", "a/b", "--wait", "ready", "--wait-timeout", "0s"}, "longer than 0"},
		{"negative watch", []string{"connection", "watch", "a/b", "--timeout", "-1s"}, "negative"},
		{"no approval", []string{"approval", "approve"}, "give the id of one approval"},
		{"an id that is none", []string{"approval", "show", "s3cret"}, "neither an approval's id"},
		{"content that is no object", []string{"approval", "approve", pauseID, "--content", "[1]"}, "JSON object"},
		{"content of a refusal", []string{"approval", "decline", pauseID, "--content", "{}"}, "unknown flag"},
		{"a wait that is too long", []string{"approval", "approve", pauseID, "--wait", "6m"}, "--wait must be"},
		{"a reason that is too long", []string{"approval", "cancel", pauseID, "--reason", strings.Repeat("x", 1001)}, "--reason"},
		{"approvals in a state that is none", []string{"approval", "list", "--state", "new"}, "open, closed or all"},
		{"a watch of what is over", []string{"approval", "list", "--watch", "--state", "closed"}, "leave out --state"},
		{"a timeout without a watch", []string{"approval", "list", "--timeout", "1s"}, "--watch"},
		{"a negative timeout", []string{"approval", "list", "--watch", "--timeout", "-1s"}, "negative"},
		{"executions in a state that is none", []string{"execution", "list", "--state", "paused"}, "--state must be one of"},
		{"too many executions", []string{"execution", "list", "--limit", "1001"}, "--limit"},
		{"no session", []string{"session", "get"}, "give the id of one session"},
		{"no line of the audit", []string{"audit", "list", "--limit", "0"}, "--limit"},
		{"broken settings", []string{"connection", "list", "--config", "/nowhere/holdfast.yaml"}, "read settings file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			require.Equal(t, cli.ExitUsage, l.run(tc.args...))
			require.Contains(t, l.stderr.String(), tc.says)
			require.Contains(t, l.stderr.String(), "--help")
			require.Empty(t, l.stdout.String())
			require.Empty(t, l.dialled, "nothing is asked of Temporal")
		})
	}
}

func TestAGroupWithoutACommandShowsItsHelp(t *testing.T) {
	t.Parallel()
	l := bare(t)
	require.Zero(t, l.run("connection"))
	require.Contains(t, l.stdout.String(), "mark-stale")
}

func TestVersionTellsTheBuild(t *testing.T) {
	t.Parallel()
	l := bare(t)
	require.Zero(t, l.run("version"))
	require.Equal(t, "holdfast 1.2.3 go1.26\n", l.stdout.String())
	require.Zero(t, l.run("version", "-o", "json"))
	require.Equal(t, buildinfo.Build{Version: "1.2.3", Go: "go1.26"}, document[buildinfo.Build](l))
}

func TestACommandNeverMakesKeysetsInAWrongFolder(t *testing.T) {
	t.Parallel()
	l := bare(t)
	require.Equal(t, cli.ExitError, l.run("connection", "list"))
	require.Contains(t, l.stderr.String(), "run holdfast setup")
	_, err := os.Stat(l.dataDir)
	require.ErrorIs(t, err, os.ErrNotExist)
}
