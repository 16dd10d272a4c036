package api

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// atOnce is how many connections one request works on at the same time.
const atOnce = 16

// outcome is what became of one connection of several.
type outcome struct {
	Workspace string `json:"workspace"`
	Directory string `json:"directory"`
	Name      string `json:"name"`
	OK        bool   `json:"ok"`
	Code      Code   `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
}

// fanOut does something to each connection, some at a time, and tells what became of each: one that fails holds up no other.
func (a *API) fanOut(ctx context.Context, targets []target, do func(context.Context, target) error) []outcome {
	outcomes := make([]outcome, len(targets))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, t := range targets {
		group.Go(func() error {
			o := outcome{Workspace: t.key.Workspace, Directory: t.key.Directory, Name: t.key.Name, OK: true}
			if err := protect(func() error { return do(ctx, t) }); err != nil {
				ours := asError(err)
				o.OK, o.Code, o.Message = false, ours.Code, ours.Message
				a.log.WarnContext(ctx, "one of several connections failed", "error", err,
					"workspace_id", t.key.Workspace, "server_name", t.key.Name)
			}
			outcomes[i] = o
			return nil
		})
	}
	_ = group.Wait() // none returns an error: each has its own outcome
	return outcomes
}

// untilOneFails does something to each connection, some at a time, and gives up all with the first that fails.
func (a *API) untilOneFails(ctx context.Context, targets []target, do func(context.Context, target) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, t := range targets {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return protect(func() error { return do(ctx, t) })
		})
	}
	return group.Wait()
}

// ofAccount are the connections of one name in every workspace of an account.
func (a *API) ofAccount(ctx context.Context, account, name string) ([]target, error) {
	rows, err := fromStore(ctx, a, func(ctx context.Context) ([]store.Workspace, error) {
		return a.Store.Workspaces(ctx, store.WorkspaceFilter{Account: account})
	})
	if err != nil {
		return nil, err
	}
	targets := make([]target, 0, len(rows))
	for _, row := range rows {
		targets = append(targets, target{workspace: row, key: delivery.Key{Workspace: row.ID, Name: name, Directory: row.Directory}})
	}
	return targets, nil
}
