package cli

import "github.com/spf13/cobra"

func newConnection(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "connection",
		Aliases: []string{"connections", "conn"},
		Short:   "Say which MCP connections are wanted, read how they stand, repair them",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(
		newApply(a),
		newList(a),
		newGet(a),
		newHealth(a),
		newWatch(a),
		newProbe(a),
		newReconcile(a),
		newRefresh(a),
		newMarkStale(a),
		newHistory(a),
		newEnable(a),
		newDisable(a),
		newRemove(a),
	)
	return cmd
}
