package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// ErrUnknownServer is in the chain of the error of [Client.Connect] and [Client.Disconnect] when the engine
// has no entry of that name in that directory.
var ErrUnknownServer = errors.New("the engine does not know this mcp server")

var (
	errNoName    = errors.New("the mcp server name is empty")
	errConfig    = errors.New("the config cannot be encoded as json")
	errNoStatus  = errors.New("an entry has no status")
	errNotTrue   = errors.New("it is not true")
	errNoHealthy = errors.New("healthy or version is missing")
)

// The statuses that engine 1.18.33 gives. Connected means that a handshake once succeeded, not that the server works.
const (
	StatusConnected               = "connected"
	StatusDisabled                = "disabled"
	StatusFailed                  = "failed"
	StatusNeedsAuth               = "needs_auth"
	StatusNeedsClientRegistration = "needs_client_registration"
)

// Status is what the engine says of one MCP server. Status may be a word that this package does not know.
type Status struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// Health is the engine's own health.
type Health struct {
	Healthy bool
	Version string
}

// Health reads GET /global/health.
func (c *Client) Health(ctx context.Context) (Health, error) {
	const op = "read engine health"
	var out struct {
		Healthy *bool  `json:"healthy"`
		Version string `json:"version"`
	}
	if err := c.http.JSON(ctx, c.read(op, "", "global", "health"), &out); err != nil {
		return Health{}, err
	}
	if out.Healthy == nil || out.Version == "" {
		return Health{}, httpclient.Malformed(op, http.StatusOK, errNoHealthy)
	}
	return Health{Healthy: *out.Healthy, Version: out.Version}, nil
}

// Statuses reads GET /mcp: every MCP server of the directory by name. It boots the directory's instance when
// there is none. An empty directory means the engine's working directory, here and in the other methods.
func (c *Client) Statuses(ctx context.Context, directory string) (map[string]Status, error) {
	return c.statuses(ctx, c.read("read mcp statuses", directory, "mcp"))
}

// Register sends POST /mcp and waits for the answer up to timeout (0 means the client's). It is sent once. The config
// must hold a "timeout", else a silent server holds the push for 60 s. The answer is no proof: read [Client.Statuses] after
// it. After an error the engine may still be at work, for 2 × the config's timeout plus its tools/list, and a late failure
// closes whatever is registered under the name by then.
func (c *Client) Register(
	ctx context.Context, directory, name string, config map[string]any, timeout time.Duration,
) (map[string]Status, error) {
	const op = "register mcp server"
	if name == "" {
		return nil, httpclient.BadRequest(op, errNoName)
	}
	body, err := json.Marshal(map[string]any{"name": name, "config": config})
	if err != nil {
		return nil, httpclient.BadRequest(op, errConfig)
	}
	req := c.write(op, directory, "mcp")
	req.Header = req.Header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Body = body
	req.Timeout = timeout
	return c.statuses(ctx, req)
}

// Connect makes the engine connect anew. Success says only that the entry exists: read [Client.Statuses] after it.
func (c *Client) Connect(ctx context.Context, directory, name string) error {
	return c.command(ctx, "connect mcp server", directory, name, "connect")
}

// Disconnect makes the engine close the server's client; the entry stays as disabled. It may be repeated.
func (c *Client) Disconnect(ctx context.Context, directory, name string) error {
	return c.command(ctx, "disconnect mcp server", directory, name, "disconnect")
}

func (c *Client) statuses(ctx context.Context, req httpclient.Request) (map[string]Status, error) {
	var out map[string]Status
	if err := c.http.JSON(ctx, req, &out); err != nil {
		return nil, err
	}
	for _, status := range out {
		if status.Status == "" {
			return nil, httpclient.Malformed(req.Op, http.StatusOK, errNoStatus)
		}
	}
	return out, nil
}

func (c *Client) command(ctx context.Context, op, directory, name, verb string) error {
	if name == "" {
		return httpclient.BadRequest(op, errNoName)
	}
	resp, err := c.http.Do(ctx, c.write(op, directory, "mcp", name, verb))
	if err == nil {
		return expectTrue(op, resp)
	}
	if resp != nil && resp.Status == http.StatusNotFound && isUnknownServer(resp.Body) {
		return &httpclient.Error{
			Op: op, Kind: httpclient.KindStatus, Status: resp.Status, Cause: ErrUnknownServer,
		}
	}
	return err
}

// isUnknownServer tells the engine's own 404 from that of a proxy or of another server on the port.
func isUnknownServer(body []byte) bool {
	var out struct {
		Tag string `json:"_tag"`
	}
	return json.Unmarshal(body, &out) == nil && out.Tag == "McpServerNotFoundError"
}

func expectTrue(op string, resp *httpclient.Response) error {
	var done bool
	if err := httpclient.Decode(op, resp, &done); err != nil {
		return err
	}
	if !done {
		return httpclient.Malformed(op, resp.Status, errNotTrue)
	}
	return nil
}
