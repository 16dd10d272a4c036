package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const accountLong = `A shared connection is addressed as ACCOUNT/NAME, or with --account and --name.`

func newAccount(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "account",
		Aliases: []string{"accounts"},
		Short:   "Connections that all workspaces of an account share",
		Long: "Shared connections are applied from a file with accounts: holdfast connection apply -f FILE. Each workspace of the account\n" +
			"has its own connection, which holdfast connection addresses as WORKSPACE/NAME.",
		Args: noArguments,
		RunE: help,
	}
	cmd.AddCommand(
		newAccountList(a),
		accountDecision{
			kind: store.IntentEnabled, use: "enable", short: "Switch a shared connection on in all workspaces of the account",
			long: "Switches a shared connection on, also one that was removed. A workspace in which it was switched off or removed by itself\n" +
				"keeps that.\n\n",
		}.command(a),
		accountDecision{
			kind: store.IntentDisabled, use: "disable", short: "Switch a shared connection off in all workspaces of the account",
			long: "Switches a shared connection off. Each workspace lets go of it once no session uses it. The config is kept.\n\n",
		}.command(a),
		accountDecision{
			kind: store.IntentRemoved, use: "remove", short: "Take a shared connection away from all workspaces of the account",
			long: "Takes a shared connection away. Each workspace lets go of it once no session uses it, and its workflow ends. The config is\n" +
				"kept: applying it again, or enable, brings it back.\n\n",
		}.command(a),
	)
	return cmd
}

// accountFlags name a shared connection where the argument does not.
type accountFlags struct{ account, name string }

func (f *accountFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "the account's id")
	flags.StringVar(&f.name, "name", "", "the MCP server's name")
}

func (f accountFlags) parse(args []string) (accountFlags, error) {
	if len(args) == 1 {
		if f != (accountFlags{}) {
			return f, usagef("give ACCOUNT/NAME, or --account and --name, not both")
		}
		if strings.Count(args[0], "/") > 1 {
			return f, usagef("address it with --account and --name: there is more than one / in the argument")
		}
		f.account, f.name, _ = strings.Cut(args[0], "/")
	}
	if f.account == "" || f.name == "" {
		return f, usagef("name the shared connection: ACCOUNT/NAME, or --account and --name")
	}
	return f, nil
}

// accountDecision is what enable, disable and remove have in common.
type accountDecision struct {
	kind             store.IntentKind
	use, short, long string
}

func (d accountDecision) command(a *App) *cobra.Command {
	var (
		target  accountFlags
		decided decisionFlags
		wait    = waitFlags{timeout: defaultWait}
		request requestFlags
	)
	cmd := &cobra.Command{
		Use: d.use + " [ACCOUNT/NAME]", Short: d.short, Long: d.long + accountLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("give one shared connection as ACCOUNT/NAME, %d arguments given", len(args))
			}
			return nil
		},
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		for _, check := range []func() error{wait.check, request.check} {
			if err := check(); err != nil {
				return err
			}
		}
		wanted, err := target.parse(args)
		if err != nil {
			return err
		}
		keys, err := s.sharedKeys(ctx, wanted)
		if err != nil {
			return err
		}
		intent := store.Intent{Account: wanted.account, Name: wanted.name, Kind: d.kind, Reason: decided.reason}
		err = s.decide(ctx, intent, keys, fanOut{trigger: "holdfast account " + d.use, wait: wait, request: &request})
		if err != nil || d.kind != store.IntentRemoved {
			return err
		}
		return s.remote.Fleet.ReconcileNow(ctx)
	})
	target.bind(cmd)
	decided.bind(cmd)
	if d.kind == store.IntentEnabled {
		wait.bind(cmd)
		request.bind(cmd, "holdfast account "+d.use)
	}
	return cmd
}

// sharedKeys are the connections of a shared config that there is.
func (s *session) sharedKeys(ctx context.Context, wanted accountFlags) ([]delivery.Key, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	shared, err := isShared(ctx, st, wanted.account, wanted.name)
	if err != nil {
		return nil, err
	}
	if !shared {
		return nil, notFoundf("account %s shares no connection %s; see: holdfast account list", wanted.account, wanted.name)
	}
	return keysOfAccount(ctx, st, wanted.account, wanted.name)
}
