package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

var (
	errNoType   = errors.New("a session has no type")
	errNoClient = errors.New("a resource has no client")
)

const sessionIdle = "idle"

// SessionState is what a session is doing: busy, retry or idle. The engine lists only those that are not idle.
type SessionState struct {
	Type string `json:"type"`
}

// Resource is one resource that a connected MCP server listed. Client is that server's name.
type Resource struct {
	Client string `json:"client"`
}

// Sessions reads GET /session/status: the directory's sessions that are at work, by id. A session is listed only
// 0.5 to 1 s after its prompt in a cold instance.
func (c *Client) Sessions(ctx context.Context, directory string) (map[string]SessionState, error) {
	const op = "read session states"
	var out map[string]SessionState
	if err := c.http.JSON(ctx, c.read(op, directory, "session", "status"), &out); err != nil {
		return nil, err
	}
	for _, state := range out {
		if state.Type == "" {
			return nil, httpclient.Malformed(op, http.StatusOK, errNoType)
		}
	}
	return out, nil
}

// Busy tells whether any session is at work. A state that is not known counts as work.
func Busy(sessions map[string]SessionState) bool {
	for _, state := range sessions {
		if state.Type != sessionIdle {
			return true
		}
	}
	return false
}

// ConfiguredServers reads the MCP servers that the engine's own configuration files define for the directory or a parent
// of it (GET /config), switched off ones included. A server registered at run time is never among them, and one registered
// over a configured name leaves the configured value as it was. It boots the directory's instance when there is none.
// The values hold secrets.
func (c *Client) ConfiguredServers(ctx context.Context, directory string) (map[string]json.RawMessage, error) {
	var out struct {
		MCP map[string]json.RawMessage `json:"mcp"`
	}
	if err := c.http.JSON(ctx, c.read("read engine configuration", directory, "config"), &out); err != nil {
		return nil, err
	}
	if out.MCP == nil {
		return map[string]json.RawMessage{}, nil
	}
	return out.MCP, nil
}

// Resources asks each connected MCP server of the directory for its resources (GET /experimental/resource), by a key
// of server name and URI. A server that fails, or has no resources, is left out without an error; one that has forgotten
// its session and says 404 is repaired by the call.
func (c *Client) Resources(ctx context.Context, directory string) (map[string]Resource, error) {
	const op = "list mcp resources"
	var out map[string]Resource
	if err := c.http.JSON(ctx, c.read(op, directory, "experimental", "resource"), &out); err != nil {
		return nil, err
	}
	for _, resource := range out {
		if resource.Client == "" {
			return nil, httpclient.Malformed(op, http.StatusOK, errNoClient)
		}
	}
	return out, nil
}

// ToolIDs reads the ids of the engine's built-in and plugin tools; MCP tools are never among them.
func (c *Client) ToolIDs(ctx context.Context, directory string) ([]string, error) {
	var out []string
	req := c.read("read tool ids", directory, "experimental", "tool", "ids")
	if err := c.http.JSON(ctx, req, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// DisposeInstance ends the directory's instance with everything registered at run time. Work under way is aborted.
func (c *Client) DisposeInstance(ctx context.Context, directory string) error {
	const op = "dispose engine instance"
	resp, err := c.http.Do(ctx, c.write(op, directory, "instance", "dispose"))
	if err != nil {
		return err
	}
	return expectTrue(op, resp)
}
