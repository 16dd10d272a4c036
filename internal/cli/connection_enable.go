package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const decisionLong = `The wish stands apart from the config: applying the config again does not undo it, nor does any repair.

A connection is addressed as WORKSPACE/NAME, or with --workspace and --name: in all directories of the workspace.`

func newEnable(a *App) *cobra.Command {
	return connectionDecision{
		kind: store.IntentEnabled, use: "enable", short: "Switch a connection on, whatever its config says",
		long: "Switches a connection on, also one that was removed from this workspace and is shared by its account.\n",
	}.command(a)
}

func newDisable(a *App) *cobra.Command {
	return connectionDecision{
		kind: store.IntentDisabled, use: "disable", short: "Switch a connection off; its config is kept",
		long: "Switches a connection off: once no session uses it, it is taken out of the engine. Its config is kept.\n",
	}.command(a)
}

// connectionDecision is what enable and disable have in common.
type connectionDecision struct {
	kind             store.IntentKind
	use, short, long string
}

func (d connectionDecision) command(a *App) *cobra.Command {
	var (
		target  addressFlags
		decided decisionFlags
		wait    = waitFlags{timeout: defaultWait}
		request requestFlags
	)
	cmd := &cobra.Command{
		Use: d.use + " [WORKSPACE/NAME]", Short: d.short, Long: d.long + decisionLong, Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		for _, check := range []func() error{wait.check, request.check} {
			if err := check(); err != nil {
				return err
			}
		}
		wanted, err := target.parse(args, "")
		if err != nil {
			return err
		}
		st, err := s.store(ctx)
		if err != nil {
			return err
		}
		keys, err := keysOfWorkspace(ctx, st, wanted.workspace, wanted.name)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			return notFoundf("no connection %s is wanted; see: holdfast connection list (one that was removed has to be applied again)", wanted)
		}
		intent := store.Intent{Workspace: wanted.workspace, Name: wanted.name, Kind: d.kind, Reason: decided.reason}
		return s.decide(ctx, intent, keys, fanOut{trigger: "holdfast connection " + d.use, wait: wait, request: &request})
	})
	target.bindNames(cmd)
	decided.bind(cmd)
	if d.kind == store.IntentEnabled {
		wait.bind(cmd)
		request.bind(cmd, "holdfast connection "+d.use)
	}
	return cmd
}
