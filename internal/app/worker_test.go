package app_test

import (
	"os"
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
	require.NoError(t, fx.ValidateApp(app.Worker(app.WorkerOptions{Config: settings(t)})))
}

func TestNoKeysetsAreMadeBesideAStoreThatHasItsOwn(t *testing.T) {
	t.Parallel()
	cfg := settings(t)
	require.NoError(t, os.WriteFile(cfg.Store.Path, []byte("a database"), 0o600))
	err := fx.New(app.Worker(app.WorkerOptions{Config: cfg}), fx.NopLogger).Err()
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
