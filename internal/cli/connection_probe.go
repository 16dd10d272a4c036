package cli

import "github.com/spf13/cobra"

func newProbe(a *App) *cobra.Command {
	return repair{
		use:   "probe",
		short: "Look at a connection and repair it: one full cycle",
		long:  "Asks the engine and the MCP server how the connection is, and repairs what is wrong.",
		call:  Connections.Probe,
	}.command(a)
}
