package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// sharedItem is one row of `account list -o json`.
type sharedItem struct {
	Account     string                       `json:"account"`
	Name        string                       `json:"name"`
	Profile     desired.Profile              `json:"profile"`
	Config      desired.Redacted             `json:"config"`
	TokenSource *desired.RedactedTokenSource `json:"tokenSource"`
	Workspaces  int                          `json:"workspaces"`
	Intent      *intentView                  `json:"intent"`
	UpdatedAt   time.Time                    `json:"updatedAt"`
}

// intentView is what somebody wants, whatever the config says.
type intentView struct {
	Kind     store.IntentKind `json:"kind"`
	Revision int64            `json:"revision"`
	By       string           `json:"by,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	At       time.Time        `json:"at"`
}

func newAccountList(a *App) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List shared connections and how many workspaces have them",
		Args:    noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		items, err := s.sharedItems(ctx, account)
		if err != nil {
			return err
		}
		return sharedListing.print(a, items)
	})
	cmd.Flags().StringVar(&account, "account", "", "only of this account")
	return cmd
}

func (s *session) sharedItems(ctx context.Context, account string) ([]sharedItem, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := st.ListAccountDesired(ctx, account)
	if err != nil {
		if !isCorrupt(err) {
			return nil, err
		}
		s.app.say("holdfast: %v", err)
	}
	places, err := st.Workspaces(ctx, store.WorkspaceFilter{Account: account})
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	intents, err := st.Intents(ctx, store.IntentFilter{Account: account})
	if err != nil {
		return nil, err
	}
	items := make([]sharedItem, 0, len(rows))
	for _, row := range rows {
		item := sharedItem{
			Account: row.Account, Name: row.Name, Profile: row.Profile, Config: row.Config.Redacted(),
			TokenSource: row.TokenSource.Redacted(), UpdatedAt: row.UpdatedAt,
		}
		for _, place := range places {
			if place.Account == row.Account {
				item.Workspaces++
			}
		}
		for _, i := range intents {
			if i.Account == row.Account && i.Name == row.Name {
				item.Intent = &intentView{Kind: i.Kind, Revision: i.Revision, By: i.By, Reason: i.Reason, At: i.UpdatedAt}
			}
		}
		items = append(items, item)
	}
	return items, nil
}

var sharedListing = listing[sharedItem]{
	columns: []any{"shared connection", "workspaces", "intent", "token", "endpoint"},
	row: func(i sharedItem) []any {
		intent, token := noValue, noValue
		if i.Intent != nil {
			intent = string(i.Intent.Kind)
		}
		switch {
		case i.TokenSource != nil:
			token = string(i.TokenSource.Kind)
		case i.Config.Headers.AuthorizationPresent:
			token = "header"
		}
		return []any{i.Account + "/" + i.Name, i.Workspaces, intent, token, i.Config.URL}
	},
	none: "no shared connections; a file of holdfast connection apply has them under accounts",
}
