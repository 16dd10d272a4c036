package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func newEngine(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "engine",
		Aliases: []string{"engines"},
		Short:   "List known engines, and forget one that nothing uses",
		Long:    "An engine becomes known by holdfast connection apply, which also changes its URL and its credentials.",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(newEngineList(a), newEngineRemove(a))
	return cmd
}

// engineItem is one row of `engine list -o json`.
type engineItem struct {
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Username       string    `json:"username,omitempty"`
	PasswordStored bool      `json:"passwordStored"`
	Workspaces     int       `json:"workspaces"`
	Connections    int       `json:"connections"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

func newEngineList(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List engines with the workspaces and connections that use them",
		Args:    noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		items, err := s.engineItems(ctx)
		if err != nil {
			return err
		}
		return engineListing.print(a, items)
	})
	return cmd
}

func (s *session) engineItems(ctx context.Context) ([]engineItem, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	engines, err := st.Engines(ctx)
	if err != nil {
		if !isCorrupt(err) {
			return nil, err
		}
		s.app.say("holdfast: %v", err)
	}
	wanted, err := wantedKeys(ctx, st)
	if err != nil {
		return nil, err
	}
	items := make([]engineItem, 0, len(engines))
	for _, e := range engines {
		places, err := st.Workspaces(ctx, store.WorkspaceFilter{EngineID: e.ID})
		if err != nil && !isCorrupt(err) {
			return nil, err
		}
		items = append(items, engineItem{
			ID: e.ID, URL: e.BaseURL, Username: e.Username, PasswordStored: e.Password != "",
			Workspaces: len(places), Connections: len(wanted[e.ID]), UpdatedAt: e.UpdatedAt.UTC(),
		})
	}
	return items, nil
}

var engineListing = listing[engineItem]{
	columns: []any{"engine", "url", "username", "password", "workspaces", "connections"},
	row: func(i engineItem) []any {
		password, username := "none", noValue
		if i.PasswordStored {
			password, username = "stored", cmp.Or(i.Username, engineapi.DefaultUsername)
		}
		return []any{i.ID, i.URL, username, password, i.Workspaces, i.Connections}
	},
	none: "no engines; one becomes known by: holdfast connection apply --engine URL",
}
