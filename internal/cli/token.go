package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// tokenLimit bounds what a token command does in the store.
const tokenLimit = 30 * time.Second

// tokenView is a token without its secret.
type tokenView struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Role       string     `json:"role"`
	Account    string     `json:"account,omitempty"`
	Live       bool       `json:"live"`
	CreatedAt  *time.Time `json:"createdAt"`
	CreatedBy  string     `json:"createdBy,omitempty"`
	ExpiresAt  *time.Time `json:"expiresAt,omitempty"`
	LastUsedAt *time.Time `json:"lastUsedAt,omitempty"`
	RevokedAt  *time.Time `json:"revokedAt,omitempty"`
	// Token is the whole token; told only when it is made.
	Token string `json:"token,omitempty"`
}

func newTokenView(row store.APIToken, now time.Time) tokenView {
	return tokenView{
		ID: row.ID, Name: row.Name, Role: row.Role, Account: row.Account, Live: auth.Live(row, now),
		CreatedAt: views.Moment(row.CreatedAt), CreatedBy: row.CreatedBy, ExpiresAt: views.Moment(row.ExpiresAt),
		LastUsedAt: views.Moment(row.LastUsedAt), RevokedAt: views.Moment(row.RevokedAt),
	}
}

func newToken(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Make, list and revoke API tokens of the gateway",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(newTokenCreate(a), newTokenList(a), newTokenRevoke(a))
	return cmd
}

// withTokens runs a command on the tokens of the store.
func (a *App) withTokens(
	run func(ctx context.Context, tokens *auth.Tokens, args []string) error,
) func(*cobra.Command, []string) error {
	return a.with(func(ctx context.Context, s *session, args []string) error {
		ctx, cancel := context.WithTimeout(ctx, tokenLimit)
		defer cancel()
		st, err := s.store(ctx)
		if err != nil {
			return err
		}
		return run(ctx, auth.NewTokens(st, nil), args)
	})
}
