package api

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func missing(err error) bool { return errors.Is(err, connection.ErrNotFound) }

// probeBody is what a probe takes; all of it is optional.
type probeBody struct {
	modelBody

	Trigger string `json:"trigger,omitempty"`
}

// postProbe looks and repairs: one full cycle.
func postProbe(a *API, c *call) (*job, error) {
	var body probeBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	trigger, err := said("trigger", body.Trigger)
	if err != nil {
		return nil, err
	}
	m, err := body.model()
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	if !t.wanted() {
		return nil, fail(CodeConnectionNotFound)
	}
	if trigger == "" {
		trigger = connection.UpdateProbe
	}
	return a.repair(c, t, connection.UpdateProbe, trigger, m)
}

// staleBody says why what was delivered is not to be trusted.
type staleBody struct {
	Reason string `json:"reason,omitempty"`
}

// told is the answer where something was only told to the workflow.
type told struct {
	Workspace  string      `json:"workspace"`
	Name       string      `json:"name"`
	Directory  string      `json:"directory"`
	WorkflowID string      `json:"workflowId"`
	Intent     *intentView `json:"intent,omitempty"`
}

func toldOf(t target, intent *store.Intent) told {
	return told{
		Workspace: t.key.Workspace, Name: t.key.Name, Directory: t.key.Directory, WorkflowID: connection.ID(t.key),
		Intent: viewOf(intent),
	}
}

// postMarkStale distrusts what was delivered: minted tokens are dropped everywhere, and it is registered from scratch.
func postMarkStale(a *API, c *call) (*job, error) {
	var body staleBody
	if err := c.decode(&body, true); err != nil {
		return nil, err
	}
	reason, err := said("reason", body.Reason)
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	if reason == "" {
		reason = "marked stale by " + c.principal.Name
	}
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		err := signal(ctx, a, func(ctx context.Context) error { return a.Connections.MarkStale(ctx, t.key, reason) })
		if missing(err) && t.wanted() {
			err = a.ensure(ctx, t, reason)
		}
		if err != nil {
			return nil, err
		}
		return ok(toldOf(t, nil))
	}}, nil
}

// reasonBody says why.
type reasonBody struct {
	Reason string `json:"reason,omitempty"`
}

// reason reads why, from a body that may be left out.
func (c *call) reason() (string, error) {
	var body reasonBody
	if err := c.decode(&body, true); err != nil {
		return "", err
	}
	return said("reason", body.Reason)
}

func postEnable(a *API, c *call) (*job, error)  { return a.switched(c, store.IntentEnabled) }
func postDisable(a *API, c *call) (*job, error) { return a.switched(c, store.IntentDisabled) }

// switched makes the job of enable and disable: an intent for the name in all directories of the workspace.
func (a *API) switched(c *call, kind store.IntentKind) (*job, error) {
	reason, err := c.reason()
	if err != nil {
		return nil, err
	}
	targets, err := a.known(c, c.path("workspace"), CodeConnectionNotFound)
	if err != nil {
		return nil, err
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, _ string) (*reply, error) {
		made, err := a.switchAll(ctx, m, targets, store.Intent{Kind: kind, By: who, Reason: reason})
		if err != nil {
			return nil, err
		}
		return ok(toldAll(targets, made))
	}}, nil
}

// toldList is what was told to the connections of a name.
type toldList struct {
	Intent *intentView `json:"intent"`
	Items  []told      `json:"items"`
}

func toldAll(targets []target, made decision) toldList {
	list := toldList{Intent: made.view(), Items: []told{}}
	for _, t := range targets {
		list.Items = append(list.Items, toldOf(t, nil))
	}
	return list
}

// postRemove takes the name out of what the workspace wants, and out of its engine.
func postRemove(a *API, c *call) (*job, error) {
	reason, err := c.reason()
	if err != nil {
		return nil, err
	}
	targets, err := a.known(c, c.path("workspace"), CodeConnectionNotFound)
	if err != nil {
		return nil, err
	}
	who, m := c.principal.ID, c.memory
	return &job{run: func(ctx context.Context, updateID string) (*reply, error) {
		made, err := a.removeAll(ctx, m, targets, store.Intent{By: who, Reason: reason}, updateID)
		if err != nil {
			return nil, err
		}
		return ok(toldAll(targets, made))
	}}, nil
}
