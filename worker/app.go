package main

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

// serve runs the worker until a signal or until it cannot go on.
func serve(cfg config.Config) int {
	graph := fx.New(app.Worker(app.WorkerOptions{Config: cfg, Version: buildinfo.Version()}))
	if err := graph.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "start worker:", err)
		return exitError
	}
	starting, cancel := context.WithTimeout(context.Background(), graph.StartTimeout())
	defer cancel()
	if err := graph.Start(starting); err != nil {
		fmt.Fprintln(os.Stderr, "start worker:", err)
		return exitError
	}
	ended := <-graph.Wait()
	stopping, cancel := context.WithTimeout(context.Background(), graph.StopTimeout())
	defer cancel()
	if err := graph.Stop(stopping); err != nil {
		fmt.Fprintln(os.Stderr, "stop worker:", err)
		return exitError
	}
	return ended.ExitCode
}
