package api

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// workspaceItem is one directory of a workspace.
type workspaceItem struct {
	ID        string     `json:"id"`
	Directory string     `json:"directory"`
	Engine    string     `json:"engine"`
	Account   string     `json:"account"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
}

// workspaceList are directories of workspaces.
type workspaceList struct {
	Items []workspaceItem `json:"items"`
}

func listOf(rows []store.Workspace) workspaceList {
	list := workspaceList{Items: []workspaceItem{}}
	for _, w := range rows {
		account := w.Account
		if account == "" {
			account = store.DefaultAccount
		}
		list.Items = append(list.Items, workspaceItem{
			ID: w.ID, Directory: w.Directory, Engine: w.EngineID, Account: account, UpdatedAt: views.Moment(w.UpdatedAt),
		})
	}
	return list
}

func getWorkspaces(a *API, c *call) (*reply, error) {
	filter := store.WorkspaceFilter{Account: c.query.Get("account"), EngineID: c.query.Get("engine")}
	rows, err := fromStore(c.Context(), a, func(ctx context.Context) ([]store.Workspace, error) {
		return a.Store.Workspaces(ctx, filter)
	})
	if err != nil {
		return nil, err
	}
	return ok(listOf(rows))
}

func getWorkspace(a *API, c *call) (*reply, error) {
	rows, err := a.workspaces(c.Context(), c.path("id"))
	if err != nil {
		return nil, err
	}
	return ok(listOf(rows))
}

// workspaceBody is one directory of a workspace as it is to be.
type workspaceBody struct {
	Directory string `json:"directory"`
	Engine    string `json:"engine"`
	Account   string `json:"account,omitempty"`
}

// workspaceChange is what a change of a workspace did.
type workspaceChange struct {
	Changed     bool          `json:"changed"`
	Workspace   workspaceItem `json:"workspace"`
	Connections []outcome     `json:"connections"`
}

// putWorkspace makes a directory of a workspace known, or gives it another engine or account. Its connections follow.
func putWorkspace(a *API, c *call) (*reply, error) {
	var body workspaceBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	if body.Directory == "" && strings.TrimSpace(body.Engine) == "" {
		return nil, failf(CodeInvalidPayload, "Give at least a directory or an engine.")
	}
	w := store.Workspace{
		ID: c.path("id"), Directory: body.Directory, EngineID: strings.TrimSpace(body.Engine), Account: strings.TrimSpace(body.Account),
	}
	if err := checkWorkspace(w); err != nil {
		return nil, err
	}
	if w.Account == "" {
		w.Account = store.DefaultAccount
	}
	if err := a.needTemporal(c.Context()); err != nil {
		return nil, err
	}
	changed, err := fromStore(c.Context(), a, func(ctx context.Context) (bool, error) { return a.Store.PutWorkspace(ctx, w) })
	if err != nil {
		return nil, err
	}
	change := workspaceChange{Changed: changed, Workspace: listOf([]store.Workspace{w}).Items[0], Connections: []outcome{}}
	targets, err := a.wantedIn(c.Context(), w)
	if err != nil {
		return nil, err
	}
	change.Connections = a.fanOut(c.Context(), targets, func(ctx context.Context, t target) error {
		return a.ensure(ctx, t, "workspace changed")
	})
	return ok(change)
}

func checkWorkspace(w store.Workspace) error {
	if err := (delivery.Key{Workspace: w.ID, Name: "x", Directory: w.Directory}).Validate(); err != nil {
		return failf(CodeInvalidPayload, "The %v.", err)
	}
	if w.Account != "" && (delivery.Key{Workspace: w.Account, Name: "x"}).Validate() != nil {
		return failf(CodeInvalidPayload, "The account must be printable and at most %d bytes.", delivery.MaxNameBytes)
	}
	if w.Directory != "" && (!filepath.IsAbs(w.Directory) || filepath.Clean(w.Directory) != w.Directory) {
		return failf(CodeInvalidPayload, "directory must be absolute and clean, with symlinks resolved, as the engine knows it.")
	}
	return nil
}

// deleteWorkspace takes a workspace away, or one directory of it: its connections are removed from the engine and end.
func deleteWorkspace(a *API, c *call) (*job, error) {
	var p plan
	if !c.memory.planned(&p) {
		rows, targets, err := a.chosen(c)
		if err != nil {
			return nil, err
		}
		p = planOf(targets)
		p.Directories = rows
	}
	m := c.memory
	return &job{run: func(ctx context.Context, updateID string) (*reply, error) {
		rows, targets, err := a.leaving(ctx, m, p)
		if err != nil {
			return nil, err
		}
		// First of all, so that nothing is delivered to it any more.
		for _, row := range rows {
			_, err := fromStore(ctx, a, func(ctx context.Context) (bool, error) {
				return a.Store.DeleteWorkspace(ctx, row.ID, row.Directory)
			})
			if err != nil {
				return nil, err
			}
		}
		outcomes := a.fanOut(ctx, targets, func(ctx context.Context, t target) error { return a.removeOne(ctx, t, updateID) })
		if i := slices.IndexFunc(outcomes, func(o outcome) bool { return !o.OK }); i >= 0 {
			return nil, &Error{Code: outcomes[i].Code, Message: outcomes[i].Message}
		}
		return ok(workspaceChange{Changed: true, Workspace: listOf(p.Directories).Items[0], Connections: outcomes})
	}}, nil
}

// leaving are the directories that are to be taken away, and their connections. What somebody has made anew since the request
// was carried out first stays.
func (a *API) leaving(ctx context.Context, m memory, p plan) ([]store.Workspace, []target, error) {
	targets := p.targets()
	if err := a.allAwake(ctx, targets); err != nil {
		return nil, nil, err
	}
	if m.plan == nil {
		return p.Directories, targets, a.keepPlan(ctx, m, p)
	}
	now, err := fromStore(ctx, a, func(ctx context.Context) ([]store.Workspace, error) {
		return a.Store.Workspaces(ctx, store.WorkspaceFilter{ID: p.Directories[0].ID})
	})
	if err != nil {
		return nil, nil, err
	}
	anew := func(directory string) bool {
		return slices.ContainsFunc(now, func(w store.Workspace) bool {
			return w.Directory == directory && !slices.ContainsFunc(p.Directories, func(old store.Workspace) bool {
				return old.Directory == directory && old.UpdatedAt.Equal(w.UpdatedAt)
			})
		})
	}
	rows := slices.DeleteFunc(slices.Clone(p.Directories), func(w store.Workspace) bool { return anew(w.Directory) })
	targets, err = a.unchanged(ctx, slices.DeleteFunc(targets, func(t target) bool { return anew(t.key.Directory) }))
	return rows, targets, err
}
