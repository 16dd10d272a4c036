package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// stateNotRunning is the state of what is wanted and has no workflow. No workflow is ever in it.
const stateNotRunning delivery.State = "not running"

// complete adds what the store knows: of what has published nothing yet, and of what is wanted and does not run.
func (s *session) complete(ctx context.Context, remote *Remote, f connection.Filter, items []listItem) ([]listItem, error) {
	if !exists(s.settings.Store.Path) {
		return items, nil
	}
	st, err := s.store(ctx)
	if err != nil {
		s.app.say("only what runs is listed: %v", err)
		return items, nil
	}
	wanted, err := wantedKeys(ctx, st)
	if err != nil {
		return nil, err
	}
	known := make(map[string]*listItem, len(items))
	for i := range items {
		known[items[i].WorkflowID] = &items[i]
	}
	var missing []listItem
	for engineID, keys := range wanted {
		for _, key := range keys {
			item := known[connection.ID(key)]
			switch {
			case item == nil && matches(f, key, engineID):
				missing = append(missing, listItem{
					Workspace: key.Workspace, Name: key.Name, Directory: key.Directory, Engine: engineID, WorkflowID: connection.ID(key),
				})
			case item != nil && item.Snapshot == nil:
				item.Directory, item.Engine = key.Directory, engineID
			}
		}
	}
	if err := lookUp(ctx, remote, missing); err != nil {
		return nil, err
	}
	items = append(items, missing...)
	slices.SortStableFunc(items, func(a, b listItem) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Directory, b.Directory))
	})
	return items, nil
}

func matches(f connection.Filter, key delivery.Key, engineID string) bool {
	return f.State == "" && f.FailureCode == "" && (f.Workspace == "" || f.Workspace == key.Workspace) &&
		(f.Name == "" || f.Name == key.Name) && (f.Engine == "" || f.Engine == engineID)
}

// lookUp asks Temporal for each: a workflow that was started just now is not in its lists yet.
func lookUp(ctx context.Context, remote *Remote, missing []listItem) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range missing {
		item := &missing[i]
		group.Go(func() error {
			key := delivery.Key{Workspace: item.Workspace, Name: item.Name, Directory: item.Directory}
			d, err := remote.Connections.Describe(ctx, key)
			switch {
			case errors.Is(err, connection.ErrNotFound), err == nil && !d.Running:
				item.State = stateNotRunning
			case err != nil:
				return fmt.Errorf("look for %s: %w", short(key), err)
			default:
				engineID := item.Engine
				*item = newListItem(connection.Listed{
					WorkflowID: item.WorkflowID, RunID: d.RunID, Workspace: key.Workspace, Name: key.Name, Snapshot: d.Snapshot,
				}, time.Now())
				item.Directory, item.Engine = key.Directory, cmp.Or(item.Engine, engineID)
			}
			return nil
		})
	}
	return group.Wait()
}
