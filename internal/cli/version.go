package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what was built",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON() {
				return a.printJSON(a.options.Build)
			}
			_, err := fmt.Fprintln(a.options.Stdout, a.options.Build.String())
			return err
		},
	}
}
