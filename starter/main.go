// Command holdfast is the command line of Holdfast: it says which MCP connections are wanted, reads how they stand and repairs
// them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/cli"
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks for an orderly end; a second one is not caught any more.
	context.AfterFunc(ctx, stop)

	var app *cli.App
	if err := fx.New(graph(), fx.Populate(&app)).Err(); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast:", err)
		return cli.ExitError
	}
	return app.Run(ctx, args)
}
