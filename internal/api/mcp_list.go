package api

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// mcpItem is one MCP server of a workspace.
type mcpItem struct {
	Name      string `json:"name"`
	Directory string `json:"directory"`
	// Source is workspace, or account where the config is shared.
	Source      string                       `json:"source" enum:"workspace,account"`
	Profile     desired.Profile              `json:"profile"`
	Enabled     bool                         `json:"enabled"`
	Config      desired.Redacted             `json:"config"`
	TokenSource *desired.RedactedTokenSource `json:"tokenSource,omitempty"`
	// State is that of what is wanted now: pending until the workflow has told of it; empty where no workflow has told anything
	// yet. A server that is switched off, as enabled says, is failed there with the code cloud_mcp_disabled.
	State     delivery.State `json:"state,omitempty"`
	UpdatedAt *time.Time     `json:"updatedAt,omitempty"`
}

// engineSync tells whether the engine has what is wanted. What is switched off, and is not delivered for that, is no failure.
type engineSync struct {
	Status   string        `json:"status" enum:"ok,failed"`
	At       *time.Time    `json:"at"`
	Failures []syncFailure `json:"failures"`
}

type syncFailure struct {
	Name      string      `json:"name"`
	Directory string      `json:"directory"`
	Code      health.Code `json:"code"`
	Message   string      `json:"message"`
}

// mcpList are the MCP servers of a workspace.
type mcpList struct {
	Items      []mcpItem  `json:"items"`
	EngineSync engineSync `json:"engineSync"`
}

func getMCPs(a *API, c *call) (*reply, error) {
	rows, err := a.workspaces(c.Context(), c.path("id"))
	if err != nil {
		return nil, err
	}
	if rows, err = c.choose(rows); err != nil {
		return nil, err
	}
	list, err := a.mcps(c.Context(), rows)
	if err != nil {
		return nil, err
	}
	return ok(list)
}

// mcps lists the MCP servers of directories of one workspace.
func (a *API) mcps(ctx context.Context, rows []store.Workspace) (mcpList, error) {
	return a.mcpsWith(ctx, rows, nil)
}

// mcpsWith is mcps with what some workflows have told since, by workflow id: the list of Temporal lags behind.
func (a *API) mcpsWith(ctx context.Context, rows []store.Workspace, newer map[string]*connection.Snapshot) (mcpList, error) {
	list := mcpList{Items: []mcpItem{}, EngineSync: engineSync{Status: "ok", Failures: []syncFailure{}}}
	published, err := a.published(ctx, rows[0].ID)
	if err != nil {
		return list, err
	}
	maps.Copy(published, newer)
	for _, row := range rows {
		targets, err := a.wantedIn(ctx, row)
		if err != nil {
			return list, err
		}
		for _, t := range targets {
			revision, err := a.revision(ctx, t.key)
			if err != nil {
				return list, err
			}
			list.add(t, published[connection.ID(t.key)], revision)
		}
	}
	return list, nil
}

// add adds a connection; a snapshot of another revision than the one that is wanted says nothing of that one.
func (l *mcpList) add(t target, s *connection.Snapshot, revision string) {
	e := t.effective
	item := mcpItem{
		Name: t.key.Name, Directory: t.key.Directory, Source: "workspace", Profile: e.Profile,
		Enabled: e.Config.Enabled != nil && *e.Config.Enabled, Config: e.Config.Redacted(),
		TokenSource: e.TokenSource.Redacted(), UpdatedAt: views.Moment(e.UpdatedAt),
	}
	if e.Shared {
		item.Source = "account"
	}
	switch {
	case s == nil:
	case revision != "" && !about(s, revision):
		item.State = delivery.Pending
	default:
		item.State = s.State
		if at := s.UpdatedAt; at != nil && (l.EngineSync.At == nil || at.After(*l.EngineSync.At)) {
			l.EngineSync.At = at
		}
		if f := s.Failure; f != nil && (item.Enabled || f.Code != health.CodeDisabled) {
			l.EngineSync.Status = "failed"
			l.EngineSync.Failures = append(l.EngineSync.Failures,
				syncFailure{Name: item.Name, Directory: item.Directory, Code: f.Code, Message: f.Message})
		}
	}
	l.Items = append(l.Items, item)
}

// wantedIn are the connections that are wanted in one directory of a workspace, by name.
func (a *API) wantedIn(ctx context.Context, w store.Workspace) ([]target, error) {
	names := map[string]bool{}
	own, err := a.ownDesired(ctx, store.Filter{Workspace: w.ID})
	if err != nil {
		return nil, err
	}
	for _, want := range own {
		if want.Directory == w.Directory {
			names[want.Name] = true
		}
	}
	if w.Account != "" {
		shared, err := a.sharedDesired(ctx, w.Account)
		if err != nil {
			return nil, err
		}
		for _, want := range shared {
			names[want.Name] = true
		}
	}
	var targets []target
	for name := range names {
		t, err := a.look(ctx, w, name)
		if err != nil {
			return nil, err
		}
		if t.wanted() {
			targets = append(targets, t)
		}
	}
	slices.SortFunc(targets, func(x, y target) int { return strings.Compare(x.key.Name, y.key.Name) })
	return targets, nil
}

// published is what the workflows of a workspace have told last, by workflow id.
func (a *API) published(ctx context.Context, workspace string) (map[string]*connection.Snapshot, error) {
	type page struct {
		rows []connection.Listed
		next string
	}
	snapshots := map[string]*connection.Snapshot{}
	token := ""
	for range maxPages {
		got, err := query(ctx, a, func(ctx context.Context) (page, error) {
			rows, next, err := a.Connections.ListPage(ctx, connection.Filter{Workspace: workspace}, connection.Page{Token: token})
			return page{rows, next}, err
		})
		if err != nil {
			return nil, err
		}
		for _, row := range got.rows {
			snapshots[row.WorkflowID] = row.Snapshot
		}
		if token = got.next; token == "" {
			break
		}
	}
	return snapshots, nil
}

// maxPages bounds the pages of 100 that one workspace is expected to have.
const maxPages = 20

// mcpBody is an MCP server that is to be added.
type mcpBody struct {
	configBody

	Name string `json:"name"`
}

// postMCP adds an MCP server to a workspace, or changes it. It is delivered by the connection's own workflow, in its own time.
func postMCP(a *API, c *call) (*job, error) {
	raw, err := c.object()
	if err != nil {
		return nil, err
	}
	var body mcpBody
	if err := c.decode(&body, false); err != nil {
		return nil, err
	}
	if strings.HasPrefix(body.Name, "openwork-connect-") || strings.HasPrefix(body.Name, "openwork-direct-") {
		return nil, fail(CodeReservedName)
	}
	w, err := a.workspace(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	t, err := a.look(c.Context(), w, body.Name)
	if err != nil {
		return nil, err
	}
	want, err := readWanted(raw, body.configBody, body.Name, t.effective)
	if err != nil {
		return nil, err
	}
	if err := want.acceptable(c.principal); err != nil {
		return nil, err
	}
	return a.add(c, t, want), nil
}

func (a *API) add(c *call, t target, want wantedConfig) *job {
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		if err := a.want(ctx, m, t, want, store.Intent{By: who, Reason: triggerAdded}); err != nil {
			return nil, err
		}
		if err := a.ensure(ctx, t, triggerAdded); err != nil {
			return nil, err
		}
		list, err := a.mcps(ctx, []store.Workspace{t.workspace})
		if err != nil {
			return nil, err
		}
		return ok(list)
	}}
}

const triggerAdded = "mcp added"

// readWanted reads a config under the profile that goes with it. One that does not say whether it is enabled is.
func readWanted(raw json.RawMessage, body configBody, name string, stored store.Effective) (wantedConfig, error) {
	profile, err := profileOf(body.Profile, name, stored)
	if err != nil {
		return wantedConfig{}, err
	}
	want, err := readConfig(raw, profile, body.TokenSource)
	if err == nil && want.config.Enabled == nil {
		enabled := true
		want.config.Enabled = &enabled
	}
	return want, err
}
