// Command holdfast-worker runs Holdfast's workflows and activities.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/config"
)

// Exit codes.
const (
	exitError = 1
	exitUsage = 2
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	flags := pflag.NewFlagSet("holdfast-worker", pflag.ContinueOnError)
	version := flags.Bool("version", false, "print the version and exit")
	if err := config.AddFlags(flags); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitError
	}
	switch err := flags.Parse(args); {
	case err == pflag.ErrHelp: //nolint:errorlint // returned bare
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	case flags.NArg() > 0:
		fmt.Fprintf(os.Stderr, "unexpected argument %q; see holdfast-worker --help\n", flags.Arg(0))
		return exitUsage
	case *version:
		fmt.Println(buildinfo.Version())
		return 0
	}
	cfg, err := config.Load(config.Options{Flags: flags})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitUsage
	}
	return serve(cfg)
}
