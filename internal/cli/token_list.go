package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
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
		views := make([]tokenView, 0, len(rows))
		for _, row := range rows {
			views = append(views, newTokenView(row, now))
		}
		return a.printTokens(views)
	})
	return cmd
}

func (a *App) printTokens(views []tokenView) error {
	if a.JSON() {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		a.say("no tokens; make one: holdfast token create --role owner --name NAME")
		return nil
	}
	t := a.newTable("id", "name", "role", "account", "usable", "created", "by", "expires", "last used")
	for _, v := range views {
		usable := "yes"
		switch {
		case v.RevokedAt != nil:
			usable = "revoked"
		case !v.Live:
			usable = "expired"
		}
		t.AppendRow([]any{v.ID, v.Name, v.Role, orNone(v.Account), usable, clock(v.CreatedAt), orNone(v.CreatedBy), clock(v.ExpiresAt), clock(v.LastUsedAt)})
	}
	t.Render()
	return nil
}
