package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// Extra makes a command that another package adds. The app gives it what all commands share: [App.Settings], [App.JSON],
// [App.Stdout] and [App.Stderr].
type Extra func(*App) *cobra.Command

// Connect reaches Temporal. It fails, within a few seconds, with a [*temporalclient.DialError] when nobody answers.
type Connect func(ctx context.Context, o temporalclient.Options, taskQueue string) (*Remote, error)

// Options are what a command line is made of. The zero value is that of the process.
type Options struct {
	Build         buildinfo.Build
	ExtraCommands []Extra

	Stdout  io.Writer // nil: the process's
	Stderr  io.Writer // nil: the process's
	Environ []string  // KEY=value; nil: the process's
	WorkDir string    // that relative paths are taken from; empty: the process's
	Connect Connect   // nil: dials the Temporal server that the settings name

	// PollEvery is how often a wait looks again; 0: 250 ms.
	PollEvery time.Duration
}

// App is one command line, for one run.
type App struct {
	options Options
	root    *cobra.Command

	globals globals
	running bool // a command's own code has begun: what fails now is no wrong usage
}

// New makes the command line with all its commands.
func New(o Options) *App {
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.Stderr == nil {
		o.Stderr = os.Stderr
	}
	o.Stdout, o.Stderr = screen{o.Stdout}, screen{o.Stderr}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Connect == nil {
		o.Connect = dial
	}
	if o.PollEvery <= 0 {
		o.PollEvery = 250 * time.Millisecond
	}
	a := &App{options: o}
	a.root = newRoot(a)
	return a
}

// Run executes one command and returns the exit code. What failed is told on stderr.
func (a *App) Run(ctx context.Context, args []string) int {
	a.root.SetArgs(args)
	command, err := a.root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	var exit *CodeError
	if !a.running && !errors.As(err, &exit) {
		err = &CodeError{Code: ExitUsage, Cause: err}
	}
	code := exitCode(err)
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", err)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		_, _ = fmt.Fprintln(a.options.Stderr, "holdfast: "+line)
	}
	if code == ExitUsage {
		_, _ = fmt.Fprintf(a.options.Stderr, "see: %s --help\n", command.CommandPath())
	}
	return code
}

// Stdout is where documents and tables go.
func (a *App) Stdout() io.Writer { return a.options.Stdout }

// Stderr is where words go that are not the answer.
func (a *App) Stderr() io.Writer { return a.options.Stderr }

// JSON reports whether the answer is for a program.
func (a *App) JSON() bool { return a.globals.output == outputJSON }

// say tells people something beside the answer.
func (a *App) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.options.Stderr, format+"\n", args...)
}

// workDir is what relative paths are taken from.
func (a *App) workDir() (string, error) {
	if a.options.WorkDir != "" {
		return a.options.WorkDir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the current folder: %w", err)
	}
	return dir, nil
}

// mark makes every command of the tree note that its own code has begun.
func (a *App) mark(command *cobra.Command) {
	for _, child := range command.Commands() {
		a.mark(child)
	}
	run := command.RunE
	if run == nil {
		return
	}
	command.RunE = func(cmd *cobra.Command, args []string) error {
		a.running = true
		return run(cmd, args)
	}
}
