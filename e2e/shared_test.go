package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// account is a stack with one shared connection and the workspaces that have it.
type account struct {
	*simulated

	id, file string
	keys     []delivery.Key
}

// newAccount applies a shared connection to n workspaces and waits until all are ready.
func newAccount(t *testing.T, n int) *account {
	t.Helper()
	a := &account{simulated: newSimulated(t, often(), simulator.EndpointOptions{}), id: "team-" + testkit.UniqueName()}
	a.file = filepath.Join(t.TempDir(), "team.yaml")
	for range n {
		directory, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		a.keys = append(a.keys, delivery.Key{Workspace: "w-" + testkit.UniqueName(), Name: "cloud", Directory: directory})
	}
	a.write(2000)
	a.run("connection", "apply", "-f", a.file)
	for _, key := range a.keys {
		a.AwaitState(key, delivery.Ready, soon)
	}
	return a
}

// write writes the manifest with a timeout, which makes it another config.
func (a *account) write(timeoutMillis int) {
	a.TB.Helper()
	text := fmt.Sprintf("accounts:\n  - id: %s\n    connections: [{name: cloud, url: %q, timeout: %d}]\nworkspaces:\n",
		a.id, a.endpoint.URL(), timeoutMillis)
	for _, key := range a.keys {
		text += fmt.Sprintf("  - {id: %s, directory: %q, engine: %q, account: %s}\n", key.Workspace, key.Directory, a.engine.BaseURL(), a.id)
	}
	require.NoError(a.TB, os.WriteFile(a.file, []byte(text), 0o600))
}

// run runs a command on the stack's installation.
func (a *account) run(args ...string) {
	a.TB.Helper()
	var output bytes.Buffer
	app := cli.New(cli.Options{Stdout: &output, Stderr: &output, WorkDir: a.TB.TempDir(), Environ: []string{
		"HOLDFAST_DATA_DIR=" + a.Config.DataDir, "HOLDFAST_TEMPORAL_TASK_QUEUE=" + a.Config.Temporal.TaskQueue,
		"TEMPORAL_ADDRESS=" + a.Server.Address(), "TEMPORAL_NAMESPACE=" + a.Server.Namespace(), "TEMPORAL_CONFIG_FILE=" + os.DevNull,
	}})
	require.Equal(a.TB, cli.ExitOK, app.Run(a.TB.Context(), args), "%v: %s", args, output.String())
}

func TestAChangeOfASharedConfigWaitsForEachWorkspacesOwnSessions(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 3)
	busy, idle := a.keys[0], a.keys[1:]
	before := a.Snapshot(busy)
	a.engine.SetBusy(busy.Directory, true)
	a.write(3000)
	a.run("connection", "apply", "-f", a.file)
	for _, key := range idle {
		a.Await(key, soon, "the new config", func(got connection.Snapshot) bool {
			return got.State == delivery.Ready && *got.AppliedRevision != *before.AppliedRevision
		})
	}
	a.Await(busy, soon, "waits", func(got connection.Snapshot) bool { return got.WaitingFor == connection.WaitingEngineIdle })
	require.Len(t, a.engine.Registrations(busy.Directory), 1, "the client in use is not replaced")
	a.engine.SetBusy(busy.Directory, false)
	a.Await(busy, soon, "the new config", func(got connection.Snapshot) bool {
		return got.State == delivery.Ready && *got.AppliedRevision != *before.AppliedRevision
	})
}

func TestASharedConnectionIsSwitchedOffForOneAndForAll(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 2)
	one, other := a.keys[0], a.keys[1]
	off := func(key delivery.Key) {
		got := a.AwaitState(key, delivery.Failed, soon)
		require.Equal(t, health.CodeDisabled, got.Failure.Code)
		testkit.Eventually(t, soon, func() bool {
			_, err := a.engine.ToolCall(t.Context(), key.Directory, key.Name, "search_capabilities")
			return err != nil
		}, "it is taken out of the engine")
	}
	a.run("connection", "disable", one.Workspace+"/cloud", "--reason", "too loud")
	off(one)
	require.Equal(t, delivery.Ready, a.Snapshot(other).State)
	a.run("connection", "apply", "-f", a.file)
	a.write(3000)
	a.run("connection", "apply", "-f", a.file)
	off(one)
	a.AwaitState(other, delivery.Ready, soon)

	a.run("account", "disable", a.id+"/cloud")
	off(other)
	a.run("account", "enable", a.id+"/cloud")
	a.AwaitState(other, delivery.Ready, soon)
	off(one)
	a.run("connection", "enable", one.Workspace+"/cloud", "--wait", "ready")
}

func TestCase49ASharedConnectionThatIsRemovedEndsInEveryWorkspace(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 3)
	a.run("connection", "remove", a.keys[0].Workspace+"/cloud")
	a.awaitEnded(a.keys[0])
	require.Equal(t, delivery.Ready, a.Snapshot(a.keys[1]).State)
	a.run("account", "remove", a.id+"/cloud")
	for _, key := range a.keys {
		a.awaitEnded(key)
		require.Positive(t, a.engine.Calls(simulator.RouteDisconnect, key.Directory), "it is disconnected in each directory")
	}
	a.run("account", "enable", a.id+"/cloud")
	a.AwaitState(a.keys[1], delivery.Ready, soon)
}

func TestAWorkspaceThatLeavesItsAccountLosesWhatItShared(t *testing.T) {
	t.Parallel()
	a := newAccount(t, 2)
	left, stayed := a.keys[0], a.keys[1]
	a.id += "-other" // the manifest now gives both another account; the store has the old one's configs as well
	a.keys = []delivery.Key{left}
	a.write(2000)
	text, err := os.ReadFile(a.file)
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("name: cloud"), []byte("name: elsewhere"), 1)
	require.NoError(t, os.WriteFile(a.file, text, 0o600))
	a.run("connection", "apply", "-f", a.file)
	a.awaitEnded(left)
	a.AwaitState(delivery.Key{Workspace: left.Workspace, Name: "elsewhere", Directory: left.Directory}, delivery.Ready, soon)
	require.Equal(t, delivery.Ready, a.Snapshot(stayed).State)
}
