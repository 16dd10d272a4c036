package api

import (
	"strings"
)

// getHealth reads the whole health document; an unhealthy connection is a good answer.
func getHealth(a *API, c *call) (*reply, error) {
	m := model{Provider: strings.TrimSpace(c.query.Get("provider")), Model: strings.TrimSpace(c.query.Get("model"))}
	if err := m.check(); err != nil {
		return nil, err
	}
	t, err := a.target(c, workspaceParam(c))
	if err != nil {
		return nil, err
	}
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
	m, err := body.model()
	if err != nil {
		return nil, err
	}
	t, err := a.target(c, workspaceParam(c))
	if err != nil {
		return nil, err
	}
	return a.refresh(c, t, body.Trigger, m)
}
