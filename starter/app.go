package main

import (
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/dev"
)

// graph composes the command line. Temporal, store and keysets are no part of it: most commands need only some of them, so each
// opens what it needs.
func graph() fx.Option {
	return fx.Options(
		fx.NopLogger,
		fx.Supply(buildinfo.Read()),
		cli.Module,
		cli.AsCommand(dev.NewCommand),
	)
}
