package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func newHistory(a *App) *cobra.Command {
	var target addressFlags
	cmd := &cobra.Command{
		Use:   "history [WORKSPACE/NAME]",
		Short: "List every change of state with its reason",
		Long: "Lists every change of state over all runs that Temporal retains, oldest first. A worker must run.\n" +
			"A connection that was removed needs --directory.\n\n" + addressLong,
		Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		transitions, err := remote.Connections.History(ctx, key)
		if err != nil {
			return err
		}
		return a.printHistory(transitions)
	})
	target.bind(cmd)
	return cmd
}

func (a *App) printHistory(transitions []connection.Transition) error {
	if a.JSON() {
		if transitions == nil {
			transitions = []connection.Transition{}
		}
		return a.printJSON(transitions)
	}
	t := a.newTable("at", "from", "to", "reason", "failure", "trigger")
	for _, change := range transitions {
		t.AppendRow([]any{
			clock(&change.At), orNone(string(change.From)), change.To, orNone(change.Reason),
			orNone(string(change.Code)), orNone(change.Trigger),
		})
	}
	t.Render()
	return nil
}
