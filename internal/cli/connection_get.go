package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func newGet(a *App) *cobra.Command {
	var target addressFlags
	cmd := &cobra.Command{
		Use:   "get [WORKSPACE/NAME]",
		Short: "Show one connection: state, health, failure, next step",
		Long:  "Shows one connection. With no worker running it shows what was published last.\n\n" + addressLong,
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
		v, silent, err := readView(ctx, remote.Connections, key)
		if err != nil {
			return s.explainGone(ctx, key, err)
		}
		a.saySilent(silent)
		return a.finish(v, nil)
	})
	target.bind(cmd)
	return cmd
}
