package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

func newTokenRevoke(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "End a token for good",
		Long:  "Ends a token for good, at once and in every gateway. Its id is in holdfast token list.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give the id of one token; see: holdfast token list")
			}
			return nil
		},
	}
	cmd.RunE = a.withTokens(func(ctx context.Context, tokens *auth.Tokens, args []string) error {
		err := tokens.Revoke(ctx, args[0])
		if errors.Is(err, auth.ErrNoToken) {
			// Not quoted: whoever gives the token itself instead of its id must not find it in a log.
			return notFoundf("no such token; see: holdfast token list")
		}
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.printJSON(map[string]any{"id": args[0], "revoked": true})
		}
		a.say("token %s is revoked", args[0])
		return nil
	})
	return cmd
}
