package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAFileWithoutAnAccountKeepsTheOneThatIsKnown(t *testing.T) {
	t.Parallel()
	l := team(t)
	path := l.file("own.yaml", `
workspaces:
  - id: acme
    directory: /srv/acme
    engine: main
    connections: [{name: own, url: "http://127.0.0.1:3002/mcp"}]
  - {id: fresh, directory: /srv/fresh, engine: main}
`)
	l.forget()
	require.Zero(t, l.run("connection", "apply", "-f", path, "-o", "json"), l.stderr)
	require.NotContains(t, l.stderr.String(), "moves")
	require.Equal(t, []string{"acme/own"}, l.told())
	require.True(t, l.effective("acme", "search").Shared, "the account is kept, and what it shares with it")
	l.store(func(st *store.Store) {
		places, err := st.Workspaces(t.Context(), store.WorkspaceFilter{ID: "fresh"})
		require.NoError(t, err)
		require.Equal(t, store.DefaultAccount, places[0].Account)
	})
}

func TestAMoveToAnotherAccountNamesWhatIsWithdrawn(t *testing.T) {
	t.Parallel()
	l := team(t)
	path := l.file("other.yaml", "workspaces:\n  - {id: acme, directory: /srv/acme, engine: main, account: other}\n")
	l.forget()
	l.connections.describe = running(standing(delivery.Ready, "r").Delivery)
	require.Zero(t, l.run("connection", "apply", "-f", path), l.stderr)
	require.Contains(t, l.stderr.String(), "workspace acme in /srv/acme moves from account team to other")
	require.Contains(t, l.stderr.String(), "withdrawn from workspace acme in /srv/acme, where account team shared them: search")
	require.Equal(t, []string{"acme/search"}, l.told())
}

func TestAMoveToAnotherEngineIsToldOfEveryConnection(t *testing.T) {
	t.Parallel()
	l := team(t)
	add := func(name, engine string) []string {
		return []string{
			"connection", "apply", "--workspace", "acme", "--directory", "/srv/acme", "--engine", engine, "--name", name, "--url", "http://127.0.0.1:3002/mcp",
		}
	}
	require.Zero(t, l.run(add("first", "main")...), l.stderr)
	l.forget()
	require.Zero(t, l.run(add("second", "http://127.0.0.1:5000")...), l.stderr)
	require.Contains(t, l.stderr.String(), "workspace acme in /srv/acme moves from engine main to 127.0.0.1-5000")
	require.NotContains(t, l.stderr.String(), "withdrawn")
	require.Equal(t, []string{"acme/first", "acme/search", "acme/second"}, l.told())
	for _, signal := range l.connections.ensured {
		require.Empty(t, signal.Revision, "the revision alone does not show the change")
		require.Equal(t, "holdfast connection apply", signal.Trigger)
	}
	for _, name := range []string{"first", "search", "second"} {
		require.Contains(t, l.stdout.String(), "acme/"+name)
		require.Equal(t, "127.0.0.1-5000", l.effective("acme", name).EngineID)
	}
	rows, _ := l.wanted()
	for _, row := range rows {
		require.Equal(t, row.Workspace == "acme", row.EngineID == "127.0.0.1-5000", "no config names the old engine: %s", row)
	}
	require.NotContains(t, l.stdout.String(), "beta/search", "another workspace stays where it is")
}

func TestAFileMayNameAnEngineThatIsKnown(t *testing.T) {
	t.Parallel()
	l := team(t)
	path := l.file("late.yaml", "workspaces:\n  - {id: late, directory: /srv/late, engine: main, account: team}\n")
	require.Zero(t, l.run("connection", "apply", "-f", path, "-o", "json"), l.stderr)
	require.Equal(t, "main", l.rows()["late/search"].Engine)

	path = l.file("wrong.yaml", "workspaces:\n  - {id: a, directory: /a, engine: "+canary+"}\n  - {id: b, directory: /b, engine: gone}\n")
	require.Equal(t, cli.ExitUsage, l.run("connection", "apply", "-f", path))
	for _, line := range []string{":2", ":3"} {
		require.Contains(t, l.stderr.String(), path+line+": workspace's engine is neither the id of an engine given here or known, nor a URL")
	}
	require.NotContains(t, l.stderr.String(), canary)
}
