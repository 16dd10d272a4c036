package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	activity "github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// projection asks what model execution may use now. It is asked of the workflow itself each time: an answer from memory could
// show what has just become stale.
func (a *API) projection(ctx context.Context, t target) (connection.Projection, error) {
	p, err := askWorkflow(ctx, a, func(ctx context.Context) (connection.Projection, error) { return a.Connections.Projection(ctx, t.key) })
	if missing(err) && t.known {
		return connection.Projection{}, nil
	}
	return p, err
}

// projected is one connection that may be used.
type projected struct {
	connection.Projection

	Directory string `json:"directory"`
}

// projectionList are the connections of a workspace that model execution may use: ready, receipted, verified.
type projectionList struct {
	Workspace string      `json:"workspace"`
	Items     []projected `json:"items"`
}

func getWorkspaceProjection(a *API, c *call) (*reply, error) {
	usable, err := a.usable(c)
	if err != nil {
		return nil, err
	}
	list := projectionList{Workspace: c.path("id"), Items: []projected{}}
	for _, u := range usable {
		list.Items = append(list.Items, projected{Projection: u.projection, Directory: u.key.Directory})
	}
	return ok(list)
}

// usableTarget is a connection that may be used, and as what.
type usableTarget struct {
	target

	projection connection.Projection
}

// usable are the connections of a workspace that model execution may use now.
func (a *API) usable(c *call) ([]usableTarget, error) {
	_, targets, err := a.chosen(c)
	if err != nil {
		return nil, err
	}
	projections := make([]connection.Projection, len(targets))
	// One that cannot be asked is not left out: it would look as if it were not ready.
	err = a.untilOneFails(c.Context(), indexed(targets, projections), func(ctx context.Context, t target) (err error) {
		*t.projection, err = a.projection(ctx, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	var usable []usableTarget
	for i := range targets {
		if projections[i].Usable {
			usable = append(usable, usableTarget{targets[i], projections[i]})
		}
	}
	return usable, nil
}

// indexed gives each target a place for its projection.
func indexed(targets []target, places []connection.Projection) []target {
	placed := slices.Clone(targets)
	for i := range placed {
		placed[i].projection = &places[i]
	}
	return placed
}

// openCodeConfig is a fragment of OpenCode's configuration. It holds no secret: headers name variables of the engine's own
// environment.
type openCodeConfig struct {
	MCP map[string]openCodeServer `json:"mcp"`
}

type openCodeServer struct {
	Type    string            `json:"type"`
	URL     string            `json:"url"`
	Enabled bool              `json:"enabled"`
	Timeout int               `json:"timeout"`
	Headers map[string]string `json:"headers,omitempty"`
	// OAuth is false where the engine must not try to sign in by itself.
	OAuth *bool `json:"oauth,omitempty"`
}

// getOpenCode gives the fragment for one directory of a workspace. An entry is of the very revision that is usable.
func getOpenCode(a *API, c *call) (*reply, error) {
	if _, err := a.workspace(c, c.path("id")); err != nil {
		return nil, err
	}
	usable, err := a.usable(c)
	if err != nil {
		return nil, err
	}
	fragment := openCodeConfig{MCP: map[string]openCodeServer{}}
	for _, u := range usable {
		resolved, err := fromStore(c.Context(), a, func(ctx context.Context) (activity.Resolved, error) {
			got, err := a.Resolver.Resolve(ctx, u.key)
			if errors.Is(err, activity.ErrNothingWanted) {
				err = nil
			}
			return got, err
		})
		if err != nil {
			return nil, err
		}
		if resolved.Revision == u.projection.Revision {
			fragment.MCP[u.key.Name] = serverOf(u.key.Name, resolved.Config)
		}
	}
	return ok(fragment)
}

func serverOf(name string, config desired.Config) openCodeServer {
	s := openCodeServer{Type: config.Type, URL: config.URL, Enabled: true, Timeout: int(config.Timeout().Milliseconds())}
	if strings.Contains(config.URL, "?") {
		s.URL = "{env:" + variableOf(name, "url") + "}" // a query often holds a key
	}
	for _, header := range slices.Sorted(maps.Keys(config.Headers)) {
		if s.Headers == nil {
			s.Headers = map[string]string{}
		}
		s.Headers[header] = "{env:" + variableOf(name, header) + "}"
	}
	if string(config.OAuth) == "false" {
		no := false
		s.OAuth = &no
	}
	return s
}

// variableOf names the variable that the engine's environment has to hold a header's value in.
func variableOf(name, header string) string {
	upper := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		default:
			return '_'
		}
	}
	return strings.Map(upper, "HOLDFAST_MCP_"+name+"_"+header)
}
