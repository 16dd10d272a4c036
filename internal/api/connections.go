package api

import (
	"context"
	"strconv"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// maxPageSize is the largest page.
const maxPageSize = 100

// connectionItem is one row of the list: what its workflow has told last. It was read with no worker running.
type connectionItem struct {
	Workspace   string         `json:"workspace"`
	Name        string         `json:"name"`
	Directory   string         `json:"directory"`
	Engine      string         `json:"engine"`
	State       delivery.State `json:"state,omitempty"`
	Since       *time.Time     `json:"since"`
	FailureCode health.Code    `json:"failureCode,omitempty"`
	WorkflowID  string         `json:"workflowId"`
	RunID       string         `json:"runId"`
	StartedAt   *time.Time     `json:"startedAt"`
	// Snapshot is null before the workflow has told anything.
	Snapshot *connection.Snapshot `json:"snapshot"`
}

// connectionList is one page.
type connectionList struct {
	Items []connectionItem `json:"items"`
	// NextPageToken is empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// getConnections lists running connections, the latest started first: one visibility call a page.
func getConnections(a *API, c *call) (*reply, error) {
	filter := connection.Filter{
		Workspace: c.query.Get("workspace"), Name: c.query.Get("name"), Engine: c.query.Get("engine"),
		State: delivery.State(c.query.Get("state")), FailureCode: c.query.Get("failureCode"),
	}
	if filter.State != "" && !filter.State.Valid() {
		return nil, failf(CodeInvalidPayload, "state must be one of %v.", delivery.States())
	}
	page := connection.Page{Size: maxPageSize, Token: c.query.Get("pageToken")}
	if text := c.query.Get("pageSize"); text != "" {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 || size > maxPageSize {
			return nil, failf(CodeInvalidPayload, "pageSize must be 1 to %d.", maxPageSize)
		}
		page.Size = size
	}
	list := connectionList{Items: []connectionItem{}}
	rows, err := query(c.Context(), a, func(ctx context.Context) (rows []connection.Listed, err error) {
		rows, list.NextPageToken, err = a.Connections.ListPage(ctx, filter, page)
		return rows, err
	})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		list.Items = append(list.Items, itemOf(row))
	}
	return ok(list)
}

func itemOf(row connection.Listed) connectionItem {
	item := connectionItem{
		Workspace: row.Workspace, Name: row.Name, WorkflowID: row.WorkflowID, RunID: row.RunID,
		StartedAt: views.Moment(row.StartedAt), Snapshot: row.Snapshot,
	}
	if s := row.Snapshot; s != nil {
		item.Directory, item.Engine, item.State, item.Since = s.Directory, s.EngineID, s.State, s.StateSince
		if s.Failure != nil {
			item.FailureCode = s.Failure.Code
		}
	}
	return item
}

// connectionView is one connection: what is wanted of it, and what its workflow has told last.
type connectionView struct {
	connectionItem

	Running bool `json:"running"`
	Wanted  bool `json:"wanted"`
	// Account is set where the config is shared by the workspaces of that account.
	Account string      `json:"account,omitempty"`
	Intent  *intentView `json:"intent,omitempty"`
}

// intentView is what somebody wants of a name, whatever its config says.
type intentView struct {
	Kind      store.IntentKind `json:"kind"`
	Account   string           `json:"account,omitempty"`
	Workspace string           `json:"workspace,omitempty"`
	Revision  int64            `json:"revision"`
	By        string           `json:"by,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	UpdatedAt *time.Time       `json:"updatedAt,omitempty"`
	// Superseded says of a repeated request's intent that somebody has decided otherwise since; it is not written again.
	Superseded bool `json:"superseded,omitempty"`
}

func viewOf(i *store.Intent) *intentView {
	if i == nil {
		return nil
	}
	return &intentView{
		Kind: i.Kind, Account: i.Account, Workspace: i.Workspace, Revision: i.Revision, By: i.By, Reason: i.Reason,
		UpdatedAt: views.Moment(i.UpdatedAt),
	}
}

func getConnection(a *API, c *call) (*reply, error) {
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	view, err := a.view(c.Context(), t)
	if err != nil {
		return nil, err
	}
	return ok(view)
}

// view reads a connection with no worker running. One that is wanted and was never started is there too.
func (a *API) view(ctx context.Context, t target) (connectionView, error) {
	v := connectionView{
		connectionItem: connectionItem{
			Workspace: t.key.Workspace, Name: t.key.Name, Directory: t.key.Directory, Engine: t.workspace.EngineID,
			WorkflowID: connection.ID(t.key),
		},
		Wanted: t.wanted(), Intent: viewOf(t.effective.Intent),
	}
	if t.effective.Shared {
		v.Account = t.effective.Account
	}
	d, err := query(ctx, a, func(ctx context.Context) (connection.Description, error) { return a.Connections.Describe(ctx, t.key) })
	if missing(err) && t.known {
		return v, nil
	}
	if err != nil {
		return v, err
	}
	row := itemOf(connection.Listed{
		WorkflowID: d.WorkflowID, RunID: d.RunID, Workspace: t.key.Workspace, Name: t.key.Name, StartedAt: d.StartedAt,
		Snapshot: d.Snapshot,
	})
	row.Directory = t.key.Directory
	if row.Engine == "" {
		row.Engine = t.workspace.EngineID
	}
	v.connectionItem, v.Running = row, d.Running
	return v, nil
}

// transitionList is the way that a connection took, oldest first.
type transitionList struct {
	Items []connection.Transition `json:"items"`
}

func getTransitions(a *API, c *call) (*reply, error) {
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	// Each run is asked by itself, with all the time that takes: whether anybody answers is found out before.
	if err := a.awake(c.Context(), t); err != nil {
		return nil, err
	}
	rows, err := query(c.Context(), a, func(ctx context.Context) ([]connection.Transition, error) {
		return a.Connections.History(ctx, t.key)
	})
	if err != nil {
		return nil, err
	}
	return ok(transitionList{Items: append([]connection.Transition{}, rows...)})
}

func getProjection(a *API, c *call) (*reply, error) {
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	projection, err := a.projection(c.Context(), t)
	if err != nil {
		return nil, err
	}
	return ok(projection)
}
