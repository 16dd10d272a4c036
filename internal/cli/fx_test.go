package cli_test

import (
	"errors"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/cli"
)

func TestCommandsOfOtherPackagesJoinTheLine(t *testing.T) {
	t.Parallel()
	var app *cli.App
	ran := false
	extra := func() cli.Extra {
		return func(*cli.App) *cobra.Command {
			return &cobra.Command{Use: "dev", RunE: func(*cobra.Command, []string) error {
				ran = true
				return &cli.CodeError{Code: 3, Cause: errors.New("not yet")}
			}}
		}
	}
	require.NoError(t, fx.New(fx.NopLogger, fx.Supply(buildinfo.Build{}), cli.Module, cli.AsCommand(extra), fx.Populate(&app)).Err())
	require.Equal(t, 3, app.Run(t.Context(), []string{"dev"}))
	require.True(t, ran)
}

func TestTheGraphNeedsNoOtherCommands(t *testing.T) {
	t.Parallel()
	require.NoError(t, fx.ValidateApp(fx.NopLogger, fx.Supply(buildinfo.Build{}), cli.Module, fx.Invoke(func(*cli.App) {})))
}
