package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

func TestARunningDevIsFoundByItself(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		pid       int
		environ   []string
		address   string
		namespace string
	}{
		{"it serves", os.Getpid(), nil, "127.0.0.1:17233", "own"},
		{"it is gone", 1 << 30, nil, "", ""},
		{"an address is named", os.Getpid(), []string{"TEMPORAL_ADDRESS=10.0.0.1:7233"}, "", ""},
		{"a profile is named", os.Getpid(), []string{"TEMPORAL_PROFILE=prod"}, "", ""},
		{"a namespace is named", os.Getpid(), []string{"TEMPORAL_NAMESPACE=other"}, "127.0.0.1:17233", ""},
		{"an empty address is none", os.Getpid(), []string{"TEMPORAL_ADDRESS="}, "127.0.0.1:17233", "own"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			l.environ = append(l.environ, tc.environ...)
			info, err := json.Marshal(cli.DevInfo{Temporal: "127.0.0.1:17233", Namespace: "own", PID: tc.pid})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(l.dataDir, cli.DevInfoFile), info, 0o600))
			require.Zero(t, l.run("connection", "list"), l.stderr)
			require.Len(t, l.dialled, 1)
			require.Equal(t, tc.address, l.dialled[0].Address)
			require.Equal(t, tc.namespace, l.dialled[0].Namespace)
			require.NotNil(t, l.dialled[0].AEAD, "payloads are sealed")
		})
	}
}

func TestADamagedDevFileIsNamed(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.NoError(t, os.WriteFile(filepath.Join(l.dataDir, cli.DevInfoFile), []byte("{"), 0o600))
	require.Equal(t, cli.ExitError, l.run("connection", "list"))
	require.Contains(t, l.stderr.String(), cli.DevInfoFile)
}

func TestAFailedDialSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fault error
		says  string
	}{
		{
			"down", &temporalclient.DialError{Address: "10.0.0.1:7233", Cause: errors.New("refused")},
			"holdfast: cannot reach Temporal at 10.0.0.1:7233; start it, or run: holdfast dev\n",
		},
		{"refused", &temporalclient.DialError{Address: "10.0.0.1:7233", Refused: true, Cause: errors.New("no")}, "TEMPORAL_API_KEY"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := prepared(t)
			l.dialFault = tc.fault
			require.Equal(t, cli.ExitError, l.run("connection", "list"))
			require.Contains(t, l.stderr.String(), tc.says)
		})
	}
}

// The address is one that takes connections and never answers: the worst of all.
func TestADeadTemporalIsToldWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	l := prepared(t)
	l.stderr = &buffer{}
	app := cli.New(cli.Options{
		Stdout: l.stdout, Stderr: l.stderr, WorkDir: l.workDir,
		Environ: []string{"HOLDFAST_DATA_DIR=" + l.dataDir, "TEMPORAL_ADDRESS=" + listener.Addr().String(), "TEMPORAL_CONFIG_FILE=" + l.file("temporal.toml", "")},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.Equal(t, cli.ExitError, app.Run(ctx, []string{"connection", "list"}))
	require.NoError(t, ctx.Err())
	require.Contains(t, l.stderr.String(), "cannot reach Temporal at "+listener.Addr().String())
}
