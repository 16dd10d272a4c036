package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func newTokenList(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List tokens with their role and last use, revoked ones too",
		Args:    noArguments,
	}
	cmd.RunE = a.withTokens(func(ctx context.Context, tokens *auth.Tokens, _ []string) error {
		rows, err := tokens.List(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		return tokenListing.print(a, viewsOf(rows, func(row store.APIToken) tokenView { return newTokenView(row, now) }))
	})
	return cmd
}

var tokenListing = listing[tokenView]{
	columns: []any{"id", "name", "role", "account", "usable", "created", "by", "expires", "last used"},
	row: func(v tokenView) []any {
		usable := "yes"
		switch {
		case v.RevokedAt != nil:
			usable = "revoked"
		case !v.Live:
			usable = "expired"
		}
		return []any{
			v.ID, v.Name, v.Role, orNone(v.Account), usable, clock(v.CreatedAt), orNone(v.CreatedBy), clock(v.ExpiresAt), clock(v.LastUsedAt),
		}
	},
	none: "no tokens; make one: holdfast token create --role owner --name NAME",
}
