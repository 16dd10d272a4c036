package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

// Exit codes of a process.
const (
	exitError = 1
	exitUsage = 2
)

// Process is one of our long-running programs.
type Process struct {
	// Name is that of the binary, What what it is in words.
	Name, What string
	Graph      func(Options) fx.Option
	Out, Err   io.Writer
}

// Main runs a process with its command line's arguments, and returns the exit code.
func (p Process) Main(args []string) int {
	flags := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	flags.SetOutput(p.Err)
	version := flags.Bool("version", false, "print the version and exit")
	if err := config.AddFlags(flags); err != nil {
		return p.fail(exitError, err)
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return 0
	case err != nil:
		return p.fail(exitUsage, err)
	case flags.NArg() > 0:
		return p.fail(exitUsage, fmt.Errorf("unexpected argument %q; see %s --help", flags.Arg(0), p.Name))
	case *version:
		_, _ = fmt.Fprintln(p.Out, buildinfo.Version())
		return 0
	}
	cfg, err := config.Load(config.Options{Flags: flags})
	if err != nil {
		return p.fail(exitUsage, err)
	}
	return p.serve(cfg)
}

func (p Process) fail(code int, err error) int {
	_, _ = fmt.Fprintln(p.Err, err)
	return code
}

// serve runs until a signal or until the process cannot go on.
func (p Process) serve(cfg config.Config) int {
	graph := fx.New(p.Graph(Options{Config: cfg, Version: buildinfo.Version()}))
	if err := graph.Err(); err != nil {
		return p.fail(exitError, fmt.Errorf("start %s: %w", p.What, Cause(err)))
	}
	starting, cancel := context.WithTimeout(context.Background(), graph.StartTimeout())
	defer cancel()
	if err := graph.Start(starting); err != nil {
		return p.fail(exitError, fmt.Errorf("start %s: %w", p.What, err))
	}
	ended := <-graph.Wait()
	stopping, cancel := context.WithTimeout(context.Background(), graph.StopTimeout())
	defer cancel()
	if err := graph.Stop(stopping); err != nil {
		return p.fail(exitError, fmt.Errorf("stop %s: %w", p.What, err))
	}
	return ended.ExitCode
}

// Run is [Process.Main] on the process's own streams.
func Run(name, what string, graph func(Options) fx.Option) int {
	return Process{Name: name, What: what, Graph: graph, Out: os.Stdout, Err: os.Stderr}.Main(os.Args[1:])
}
