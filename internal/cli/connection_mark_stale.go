package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newMarkStale(a *App) *cobra.Command {
	var (
		target addressFlags
		reason string
	)
	cmd := &cobra.Command{
		Use:   "mark-stale [WORKSPACE/NAME]",
		Short: "Distrust what was delivered: register again from scratch",
		Long:  "Says that what was delivered is not to be trusted. The connection is registered again from scratch.\n\n" + addressLong,
		Args:  oneAddress,
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
		signalled, cancel := context.WithTimeout(ctx, signalLimit)
		defer cancel()
		if err := remote.Connections.MarkStale(signalled, key, reason); err != nil {
			return s.explainGone(ctx, key, err)
		}
		a.say("%s is marked stale; see: holdfast connection watch %s", short(key), short(key))
		if !a.JSON() {
			return nil
		}
		return a.printJSON(finalView(ctx, remote.Connections, key, nil))
	})
	target.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "marked stale by hand", "why, in your words; shown in the history")
	return cmd
}
