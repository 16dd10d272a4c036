package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/cli"
)

func TestTheGraphIsComplete(t *testing.T) {
	t.Parallel()
	require.NoError(t, fx.ValidateApp(graph(), fx.Invoke(func(*cli.App) {})))
}

func TestExitCodesReachTheProcess(t *testing.T) {
	t.Parallel()
	require.Equal(t, cli.ExitOK, run([]string{"version"}))
	require.Equal(t, cli.ExitUsage, run([]string{"frobnicate"}))
}
