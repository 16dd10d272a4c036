package api

import (
	"context"
	"strings"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// getHealth reads the whole health document; an unhealthy connection is a good answer.
func getHealth(a *API, c *call) (*reply, error) {
	m, err := c.model()
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, workspaceParam(c))
	if err != nil {
		return nil, err
	}
	return a.readHealth(c, t, m)
}

// getConnectionHealth is getHealth for a connection that there is: wanted, or with a workflow that still runs.
func getConnectionHealth(a *API, c *call) (*reply, error) {
	m, err := c.model()
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, "workspace")
	if err != nil {
		return nil, err
	}
	if !t.wanted() {
		d, err := query(c.Context(), a, func(ctx context.Context) (connection.Description, error) {
			return a.Connections.Describe(ctx, t.key)
		})
		if missing(err) || err == nil && !d.Running {
			return nil, fail(CodeConnectionNotFound)
		}
		if err != nil {
			return nil, err
		}
	}
	return a.readHealth(c, t, m)
}

// model is the model that the query names.
func (c *call) model() (model, error) {
	m := model{Provider: strings.TrimSpace(c.query.Get("provider")), Model: strings.TrimSpace(c.query.Get("model"))}
	return m, m.check()
}

func (a *API) readHealth(c *call, t target, m model) (*reply, error) {
	document, err := a.health(c.Context(), t.key, m.options(truthy(c.query.Get("probe"))))
	if err != nil {
		return nil, err
	}
	return ok(document)
}

func truthy(text string) bool { return text == "1" || strings.EqualFold(text, "true") }

// refreshBody is what a refresh takes; all of it is optional.
type refreshBody struct {
	addressBody
	modelBody

	Trigger string `json:"trigger,omitempty"`
}

// postRefresh drops the engine's entry and delivers it anew.
func postRefresh(a *API, c *call) (*job, error) {
	var body refreshBody
	if err := c.decode(&body, false); err != nil {
		return nil, err
	}
	if err := body.check(c.path(workspaceParam(c)), c.path("name")); err != nil {
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
	t, err := a.target(c, workspaceParam(c))
	if err != nil {
		return nil, err
	}
	return a.refresh(c, t, trigger, m)
}
