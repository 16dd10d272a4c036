package cli

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

const rootLong = `Holdfast keeps the MCP connections of agent workspaces alive, and lets MCP tool calls wait safely for a person.

Temporal is found by the standard TEMPORAL_* variables (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, ...) and
profile file. With none of them set, a running 'holdfast dev' on the same data folder is used, else 127.0.0.1:7233.
Settings of Holdfast come from --config, HOLDFAST_* variables and flags.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 not ready or not decided yet, 4 not found.`

func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "Keep agent workspaces connected to their MCP servers",
		Long:          rootLong,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          help,
	}
	root.SetOut(a.options.Stdout)
	root.SetErr(a.options.Stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	a.globals.bind(root)
	root.AddCommand(
		newConnection(a),
		newApproval(a),
		newExecution(a),
		newMCPSession(a),
		newTool(a),
		newAudit(a),
		newToken(a),
		newAccount(a),
		newEngine(a),
		newFleet(a),
		newSetup(a),
		newDoctor(a),
		newVersion(a),
	)
	for _, extra := range a.options.ExtraCommands {
		root.AddCommand(extra(a))
	}
	a.mark(root)
	return root
}

// help is the run of a command that only has others below it.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// looksLikeCommand holds for what is quoted without a risk.
var looksLikeCommand = regexp.MustCompile(`^[a-z-]{1,30}$`)

// noArguments does not quote what it refuses, except for a mistyped command: a header's value given without quotes ends up here.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasAvailableSubCommands() {
		if looksLikeCommand.MatchString(args[0]) {
			return usagef("%s has no such command: %s", cmd.CommandPath(), args[0])
		}
		return usagef("%s has no such command", cmd.CommandPath())
	}
	return usagef("%s takes no arguments beside its flags, %d given: quote values that hold blanks", cmd.CommandPath(), len(args))
}

const (
	outputTable = "table"
	outputJSON  = "json"
)

// globals are the flags of every command.
type globals struct {
	output outputFormat
}

func (g *globals) bind(root *cobra.Command) {
	g.output = outputTable
	flags := root.PersistentFlags()
	flags.VarP(&g.output, "output", "o", "table for people, json for programs")
	// The settings are our own: a path that is none is a mistake in this file.
	if err := config.AddFlags(flags, "data_dir"); err != nil {
		panic(fmt.Sprintf("add settings flags: %v", err))
	}
}

// outputFormat is the value of -o.
type outputFormat string

func (o *outputFormat) String() string { return string(*o) }

// Type is shown in help texts.
func (o *outputFormat) Type() string { return outputTable + "|" + outputJSON }

// Set refuses what is no format.
func (o *outputFormat) Set(value string) error {
	if value != outputTable && value != outputJSON {
		return errors.New("give table or json")
	}
	*o = outputFormat(value)
	return nil
}
