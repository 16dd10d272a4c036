package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

func settings(t *testing.T) config.Config {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load(config.Options{Environ: []string{"HOME=" + dir}, Defaults: map[string]string{"data_dir": dir}})
	require.NoError(t, err)
	return cfg
}

func TestTheWorkersGraphIsWhole(t *testing.T) {
	t.Parallel()
	require.NoError(t, fx.ValidateApp(app.Worker(app.Options{Config: settings(t)})))
}

func TestTheGatewaysGraphIsWhole(t *testing.T) {
	t.Parallel()
	require.NoError(t, fx.ValidateApp(app.Gateway(app.Options{Config: settings(t)})))
	require.NoError(t, fx.ValidateApp(app.WorkerAndGateway(app.Options{Config: settings(t)})))
}

func TestAProcessTellsItsVersionAndRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"--version"}, 0, `\S`, ""},
		{[]string{"--help"}, 0, "", "gateway-listen"},
		{[]string{"now"}, 2, "", `unexpected argument "now"; see holdfast-x --help`},
		{[]string{"--nothing"}, 2, "", "nothing"},
		{[]string{"--gateway-listen", "0.0.0.0:1", "--gateway-auth", "none"}, 2, "", "holdfast token create"},
	} {
		var out, fault strings.Builder
		p := app.Process{Name: "holdfast-x", What: "x", Graph: app.Gateway, Out: &out, Err: &fault}
		require.Equal(t, tc.code, p.Main(tc.args), fault.String())
		require.Regexp(t, tc.out, out.String())
		require.Contains(t, fault.String(), tc.err)
	}
}

func TestNoKeysetsAreMadeBesideAStoreThatHasItsOwn(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	require.NoError(t, os.WriteFile(cfg.Store.Path, []byte("a database"), 0o600))
	err := fx.New(app.Worker(app.Options{Config: cfg}), fx.NopLogger).Err()
	require.ErrorContains(t, err, "restore them from a backup")
	require.NoDirExists(t, cfg.Keys.Dir)
}

func TestTheCodecsSecretIsMadeOnce(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	first, err := app.CodecSecret(cfg)
	require.NoError(t, err)
	again, err := app.CodecSecret(cfg)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.GreaterOrEqual(t, len(first), 32)
}

func TestAFileThatIsWrongIsToldWithoutTheNamesOfFunctions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"mcpServers": {"a": {"ulr": "http://127.0.0.1/mcp"}}}`), 0o600))
	var out, fault strings.Builder
	p := app.Process{Name: "holdfast-x", What: "x", Graph: app.Gateway, Out: &out, Err: &fault}
	require.Equal(t, 1, p.Main([]string{"--data-dir", t.TempDir(), "--sources-file", file}))
	require.Contains(t, fault.String(), "start x: "+file+`: mcpServers.a: unknown key "ulr"`)
	require.NotContains(t, fault.String(), "function")
	require.NoError(t, app.Cause(nil))
}
