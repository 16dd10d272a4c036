package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// ended describes a workflow that somebody has terminated.
func ended() (connection.Description, error) {
	s := standing(delivery.Ready, "r1").Delivery
	return connection.Description{Snapshot: &s}, nil
}

func TestAWorkflowThatWasEndedByHandIsSaidToBe(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.describe, l.connections.stale = ended, connection.ErrNotFound
	for _, args := range [][]string{
		{"get"}, {"watch"}, {"probe"}, {"reconcile"}, {"reconcile", "--wait", "ready"}, {"refresh"}, {"mark-stale"},
	} {
		require.Equal(t, cli.ExitNotFound, l.run(append([]string{"connection", args[0], "acme/search"}, args[1:]...)...), args)
		require.Equal(t, "holdfast: acme/search is wanted, but its workflow was ended by hand; "+
			"start it again: holdfast fleet reconcile, or apply it again\n", l.stderr.String(), args)
		require.Empty(t, l.stdout.String())
	}
}

func TestWhatIsWantedAndDoesNotRunIsListed(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	key := l.want("/srv/acme")
	s := standing(delivery.Ready, "r1").Delivery
	l.connections.listed = []connection.Listed{{Workspace: "beta", Name: "files", WorkflowID: "w", Snapshot: &s}}
	l.connections.describe = ended
	for _, tc := range []struct {
		args   []string
		states []string
	}{
		{nil, []string{"not running", "ready"}},
		{[]string{"--workspace", "acme", "--name", "search", "--engine", "127.0.0.1-4096"}, []string{"not running", "ready"}},
		{[]string{"--engine", "other"}, []string{"ready"}},
		{[]string{"--state", "ready"}, []string{"ready"}},
		{[]string{"--failure-code", "x"}, []string{"ready"}},
	} {
		require.Zero(t, l.run(append([]string{"connection", "list", "-o", "json"}, tc.args...)...), l.stderr)
		var states []string
		for _, item := range document[[]struct{ State string }](l) {
			states = append(states, item.State)
		}
		require.Equal(t, tc.states, states, tc.args)
	}
	require.Zero(t, l.run("connection", "list"))
	require.Contains(t, l.stdout.String(), "not running")

	// Temporal's lists come a little later than its workflows.
	l.connections.describe = running(s)
	require.Zero(t, l.run("connection", "list", "--name", "search", "-o", "json"), l.stderr)
	first := document[[]struct{ State, WorkflowID, RunID string }](l)[0]
	require.Equal(t, []string{"ready", connection.ID(key), "run-1"}, []string{first.State, first.WorkflowID, first.RunID})
}

func TestSetupMakesNoKeysetsForADatabaseThatHasItsOwn(t *testing.T) {
	t.Parallel()
	from, l := prepared(t), bare(t)
	l.environ = append(l.environ, "HOLDFAST_STORE_PATH="+from.dataDir+"/holdfast.db")
	require.Equal(t, cli.ExitError, l.run("setup"))
	require.Equal(t, "holdfast: "+from.dataDir+"/holdfast.db was written with keysets that are not in "+l.dataDir+
		"/keys: restore them from a backup\n", l.stderr.String())
	require.NoDirExists(t, l.dataDir)
	require.Empty(t, l.dialled)

	l.store(func(*store.Store) {})
	require.Equal(t, cli.ExitError, l.run("setup"))
	require.Regexp(t, `^holdfast: open store \S+: it was written with another`, l.stderr.String())
}
