package api

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// workspaces are all directories of one workspace. The id must be exactly one that there is. What was applied before
// workspaces were rows counts too.
func (a *API) workspaces(ctx context.Context, id string) ([]store.Workspace, error) {
	if id == "" {
		return nil, fail(CodeWorkspaceNotFound)
	}
	rows, err := fromStore(ctx, a, func(ctx context.Context) ([]store.Workspace, error) {
		return a.Store.Workspaces(ctx, store.WorkspaceFilter{ID: id})
	})
	if err != nil {
		return nil, err
	}
	own, err := a.ownDesired(ctx, store.Filter{Workspace: id})
	if err != nil {
		return nil, err
	}
	for _, want := range own {
		known := slices.ContainsFunc(rows, func(w store.Workspace) bool { return w.Directory == want.Directory })
		if !known {
			rows = append(rows, store.Workspace{ID: id, Directory: want.Directory, EngineID: want.EngineID, UpdatedAt: want.UpdatedAt})
		}
	}
	if len(rows) == 0 {
		return nil, fail(CodeWorkspaceNotFound)
	}
	return rows, nil
}

// ownDesired lists what connections want of their own. A damaged row is left out: it must not hide the others.
func (a *API) ownDesired(ctx context.Context, f store.Filter) ([]store.Desired, error) {
	return fromStore(ctx, a, func(ctx context.Context) ([]store.Desired, error) {
		rows, err := a.Store.ListDesired(ctx, f)
		var corrupt *store.CorruptRowError
		if errors.As(err, &corrupt) {
			err = nil
		}
		return rows, err
	})
}

// workspace is the one directory that a request means: the only one, or the one that it names.
func (a *API) workspace(c *call, id string) (store.Workspace, error) {
	rows, err := a.workspaces(c.Context(), id)
	if err != nil {
		return store.Workspace{}, err
	}
	chosen, err := c.choose(rows)
	switch {
	case err != nil:
		return store.Workspace{}, err
	case len(chosen) > 1:
		return store.Workspace{}, ambiguous(chosen)
	default:
		return chosen[0], nil
	}
}

// directory is the one that the request names. An empty one is a name too: only what is left out means all.
func (c *call) directory() (directory string, given bool) {
	return c.query.Get("directory"), c.query.Has("directory")
}

// choose keeps the directory that the request names; all of them where it names none.
func (c *call) choose(rows []store.Workspace) ([]store.Workspace, error) {
	directory, given := c.directory()
	if !given {
		return rows, nil
	}
	for _, row := range rows {
		if row.Directory == directory {
			return []store.Workspace{row}, nil
		}
	}
	return nil, failf(CodeWorkspaceNotFound, "The workspace has no such directory.")
}

func ambiguous(rows []store.Workspace) *Error {
	directories := make([]string, 0, len(rows))
	for _, row := range rows {
		directories = append(directories, row.Directory)
	}
	return fail(CodeDirectoryAmbiguous).with("directories", directories)
}

// target is the connection that a request means, and what it should be; known is false where nothing is wanted of that name.
type target struct {
	key       delivery.Key
	workspace store.Workspace
	effective store.Effective
	known     bool

	// projection is where to put what model execution may use, for who asks for that.
	projection *connection.Projection
}

// wanted reports whether something is to be delivered.
func (t target) wanted() bool { return t.known && !t.effective.Removed }

// target finds a connection by workspace and name. Of several directories it is the one in which something of that name is
// wanted.
func (a *API) target(c *call, workspaceParam string) (target, error) {
	name := c.path("name")
	rows, err := a.workspaces(c.Context(), c.path(workspaceParam))
	if err != nil {
		return target{}, err
	}
	chosen, err := c.choose(rows)
	if err != nil {
		return target{}, err
	}
	var all, wanted []target
	for _, row := range chosen {
		t, err := a.look(c.Context(), row, name)
		if err != nil {
			return target{}, err
		}
		all = append(all, t)
		if t.wanted() {
			wanted = append(wanted, t)
		}
	}
	switch {
	case len(wanted) == 1:
		return wanted[0], nil
	case len(all) == 1:
		return all[0], nil
	default:
		return target{}, ambiguous(chosen)
	}
}

// everywhere are the connections of one name in every directory of a workspace.
func (a *API) everywhere(ctx context.Context, workspace, name string) ([]target, error) {
	rows, err := a.workspaces(ctx, workspace)
	if err != nil {
		return nil, err
	}
	targets := make([]target, 0, len(rows))
	for _, row := range rows {
		t, err := a.look(ctx, row, name)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// look reads what a connection should be.
func (a *API) look(ctx context.Context, w store.Workspace, name string) (target, error) {
	t := target{workspace: w, key: delivery.Key{Workspace: w.ID, Name: name, Directory: w.Directory}}
	if err := t.key.Validate(); err != nil {
		var wrong *delivery.KeyError
		if errors.As(err, &wrong) && wrong.Part == "name" {
			return target{}, failf(CodeInvalidName, "The name %s.", wrong.Problem)
		}
		return target{}, failf(CodeInvalidPayload, "The %v.", err)
	}
	effective, err := fromStore(ctx, a, func(ctx context.Context) (store.Effective, error) { return a.Store.Effective(ctx, t.key) })
	if errors.Is(err, store.ErrNotFound) {
		return t, nil
	}
	if err != nil && !unreadable(err) {
		return target{}, err
	}
	// A damaged config is wanted all the same: the health says what is wrong with it.
	t.effective, t.known = effective, true
	if t.workspace.EngineID == "" {
		t.workspace.EngineID = effective.EngineID
	}
	return t, nil
}

func unreadable(err error) bool {
	var ours *Error
	return errors.As(err, &ours) && ours.Code == CodeUnreadable
}

// chosen are the directories of the path's workspace that the request is about, and what is wanted in them.
func (a *API) chosen(c *call) ([]store.Workspace, []target, error) {
	rows, err := a.workspaces(c.Context(), c.path("id"))
	if err != nil {
		return nil, nil, err
	}
	if rows, err = c.choose(rows); err != nil {
		return nil, nil, err
	}
	var targets []target
	for _, row := range rows {
		some, err := a.wantedIn(c.Context(), row)
		if err != nil {
			return nil, nil, err
		}
		targets = append(targets, some...)
	}
	return rows, targets, nil
}
