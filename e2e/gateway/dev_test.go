package gateway_test

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const devStart = 2 * time.Minute

// devRun is `holdfast dev` as a program runs it.
type devRun struct {
	process *testkit.Process

	Ready   bool
	Gateway string
	Token   string
}

func startDev(t *testing.T, dir string) *devRun {
	t.Helper()
	d := &devRun{process: testkit.Start(t, testkit.Command{
		Path: testkit.Binary(t, "starter"), Env: append(os.Environ(), "HOLDFAST_DATA_DIR="+dir, "TEMPORAL_ADDRESS="),
		Args: []string{
			"dev", "-o", "json", "--no-demo", "--temporal-port", "0", "--ui-port", "0", "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0",
		},
	})}
	testkit.Eventually(t, devStart, func() bool {
		line, _, whole := strings.Cut(d.process.Output(), "\n")
		return (whole && json.Unmarshal([]byte(line), d) == nil && d.Ready) || !d.process.Running()
	}, "holdfast dev says that it is ready")
	require.True(t, d.Ready, d.process.Output())
	return d
}

func TestDevHasAGatewayAndATokenForItThatEndsAtTheNextStart(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	first := startDev(t, dir)
	status := func(at, token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/v1/tokens", nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := (&http.Client{}).Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode
	}
	require.Equal(t, http.StatusOK, status(first.Gateway, first.Token), "it is an owner's")
	require.Equal(t, 1, strings.Count(first.process.Output(), first.Token), "it is shown once")
	info, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	require.NoError(t, err)
	require.Contains(t, string(info), first.Gateway)
	log, err := os.ReadFile(filepath.Join(dir, "dev.log"))
	require.NoError(t, err)
	require.NotContains(t, string(info)+string(log), first.Token)
	require.NoError(t, first.process.Interrupt(t))

	second := startDev(t, dir)
	require.NotEqual(t, first.Token, second.Token)
	require.Equal(t, http.StatusUnauthorized, status(second.Gateway, first.Token))
	require.Equal(t, http.StatusOK, status(second.Gateway, second.Token))
	require.NoError(t, second.process.Interrupt(t))
}

func TestDevThatDoesNotComeUpSaysWhyAndNothingElse(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	process := testkit.Start(t, testkit.Command{
		Path: testkit.Binary(t, "starter"), Env: append(os.Environ(), "HOLDFAST_DATA_DIR="+t.TempDir(), "TEMPORAL_ADDRESS="),
		Args: []string{
			"dev", "--no-demo", "--temporal-port", "0", "--ui-port", "0", "--listen", "127.0.0.1:0", "--gateway-listen", taken.Addr().String(),
		},
	})
	testkit.Eventually(t, devStart, func() bool { return !process.Running() }, "holdfast dev gives up")
	require.Contains(t, process.Output(), "free the port")
	require.NotContains(t, process.Output(), "goes on from here")
}
