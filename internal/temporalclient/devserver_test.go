package temporalclient_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestDevServerKeepsItsDataOverARestart(t *testing.T) {
	t.Parallel()
	options := temporalclient.DevServerOptions{
		DataFile: filepath.Join(t.TempDir(), "data", "temporal.db"), Namespace: "fleet", Retention: week, CodecEndpoint: "http://localhost:1/x",
	}
	first, err := startServer(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = first.Stop(t.Context()) })
	require.NotEmpty(t, first.UIURL())
	require.Len(t, first.UIOrigins(), 2)
	dialed := dialServer(t, first)
	requireNoErrors(t, temporalclient.Inspect(t.Context(), dialed, "fleet", week))
	_, err = dialed.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "survivor", TaskQueue: "nobody"}, "some-workflow")
	require.NoError(t, err)

	_, err = startServer(t.Context(), options)
	var busy *temporalclient.DataFileBusyError
	require.ErrorAs(t, err, &busy)

	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.Stop(t.Context()), "a second stop does nothing")
	<-first.Exited()
	require.NoError(t, first.Err())

	second, err := startServer(t.Context(), options)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Stop(t.Context())) }()
	described, err := dialServer(t, second).DescribeWorkflow(t.Context(), "survivor", "")
	require.NoError(t, err)
	require.Equal(t, "survivor", described.WorkflowExecution.ID)
}

func TestDevServerNamesATakenPort(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	port := listener.Addr().(*net.TCPAddr).Port

	for purpose, tc := range map[string]temporalclient.DevServerOptions{
		"server": {Port: port, Headless: true},
		"ui":     {UIPort: port},
	} {
		_, err := startServer(t.Context(), tc)
		var taken *temporalclient.PortTakenError
		require.ErrorAs(t, err, &taken)
		require.Equal(t, temporalclient.PortTakenError{Port: port, Purpose: purpose}, *taken)
		require.ErrorContains(t, err, "port "+strconv.Itoa(port)+" for the "+purpose+" is taken")
	}
}

func TestDevServerTellsOfAnExitThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	server, err := startServer(t.Context(), temporalclient.DevServerOptions{Headless: true})
	require.NoError(t, err)

	require.NoError(t, syscall.Kill(server.PID(), syscall.SIGKILL))

	select {
	case <-server.Exited():
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the exit was not reported")
	}
	var exit *temporalclient.ExitError
	require.ErrorAs(t, server.Err(), &exit)
	require.ErrorContains(t, server.Err(), "killed")
	require.NoError(t, server.Stop(t.Context()))
}

func TestDevServerShowsWhyItDidNotStart(t *testing.T) {
	t.Parallel()
	broken := script(t, filepath.Join(t.TempDir(), "temporal"), "#!/bin/sh\necho the disk is full >&2\nexit 3\n")

	_, err := temporalclient.StartDevServer(t.Context(), temporalclient.DevServerOptions{
		CLI: temporalclient.CLI{Path: broken}, Headless: true, Port: unusedPort(t),
	})

	var exit *temporalclient.ExitError
	require.ErrorAs(t, err, &exit)
	require.ErrorContains(t, err, "the disk is full")
}

func TestDevServerThatHangsIsKilledWithinItsBounds(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	hanging := script(t, filepath.Join(t.TempDir(), "temporal"), "#!/bin/sh\ntrap '' INT\necho $$ > "+pidFile+"\nwhile :; do sleep 1; done\n")

	_, err := temporalclient.StartDevServer(t.Context(), temporalclient.DevServerOptions{
		CLI: temporalclient.CLI{Path: hanging}, Headless: true, ReadyTimeout: time.Second,
	})

	require.ErrorContains(t, err, "wait for temporal dev server")
	written, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(written)))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func dialServer(t *testing.T, server *temporalclient.DevServer) client.Client {
	t.Helper()
	options := plainOptions(server.Address())
	options.Namespace = server.Namespace()
	dialed, err := temporalclient.Dial(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	return dialed
}
