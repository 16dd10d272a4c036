package cli

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// isShared reports whether an account shares a connection of the name, also one whose config cannot be read.
func isShared(ctx context.Context, st *store.Store, account, name string) (bool, error) {
	_, err := st.AccountDesired(ctx, account, name)
	switch {
	case err == nil, isCorrupt(err):
		return true, nil
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	default:
		return false, err
	}
}

// sharedNames are the names of an account's shared configs that can be read.
func sharedNames(ctx context.Context, st *store.Store, account string) ([]string, error) {
	rows, err := st.ListAccountDesired(ctx, account)
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows {
		if row.Account == account {
			names = append(names, row.Name)
		}
	}
	return names, nil
}

// keysOfAccount are the connections of one name in all workspaces of an account.
func keysOfAccount(ctx context.Context, st *store.Store, account, name string) ([]delivery.Key, error) {
	places, err := st.Workspaces(ctx, store.WorkspaceFilter{Account: account})
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	keys := make([]delivery.Key, 0, len(places))
	for _, place := range places {
		keys = append(keys, delivery.Key{Workspace: place.ID, Name: name, Directory: place.Directory})
	}
	return keys, nil
}

// keysOfWorkspace are the connections of one name in all directories of a workspace, those too that somebody removed and those
// that cannot be unsealed.
func keysOfWorkspace(ctx context.Context, st *store.Store, workspace, name string) ([]delivery.Key, error) {
	wanted, err := st.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var keys []delivery.Key
	for _, want := range wanted {
		if want.Workspace == workspace && want.Name == name {
			keys = append(keys, want.Key)
		}
	}
	own, err := st.ListDesired(ctx, store.Filter{Workspace: workspace, Name: name})
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	for _, row := range own {
		keys = append(keys, row.Key)
	}
	places, err := st.Workspaces(ctx, store.WorkspaceFilter{ID: workspace})
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	for _, place := range places {
		shared, err := isShared(ctx, st, place.Account, name)
		if err != nil {
			return nil, err
		}
		if shared {
			keys = append(keys, delivery.Key{Workspace: workspace, Name: name, Directory: place.Directory})
		}
	}
	return sortedKeys(keys), nil
}

// intentOf is the intent for an account or a workspace; nil where there is none.
func intentOf(ctx context.Context, st *store.Store, of store.Intent) (*store.Intent, error) {
	rows, err := st.Intents(ctx, store.IntentFilter{Account: of.Account, Workspace: of.Workspace, Name: of.Name})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Account == of.Account && row.Workspace == of.Workspace && row.Name == of.Name {
			return &row, nil
		}
	}
	return nil, nil
}
