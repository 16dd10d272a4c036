package cli

import "github.com/spf13/cobra"

func newReconcile(a *App) *cobra.Command {
	return repair{
		use:   "reconcile",
		short: "Deliver what is wanted now",
		long:  "Delivers what the store holds now. A failure that waits for a person is tried again.",
		call:  Connections.Reconcile,
	}.command(a)
}
