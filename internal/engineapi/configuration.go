package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// Configuration is the part of an engine's configuration that decides what tools models may call. The JSON is as the
// engine wrote it: the order of keys counts. Nothing in it is secret.
type Configuration struct {
	Permission   json.RawMessage               `json:"permission"`
	Tools        json.RawMessage               `json:"tools"`
	Agents       map[string]AgentConfiguration `json:"agent"`
	DefaultAgent string                        `json:"default_agent"`
}

// AgentConfiguration is what an agent's own configuration says of tools.
type AgentConfiguration struct {
	Permission json.RawMessage `json:"permission"`
	Tools      json.RawMessage `json:"tools"`
}

// ConfigurationError is in the chain of the error of [Client.Configuration] when the engine cannot use one of its files.
// It then answers every question about the directory like this.
type ConfigurationError struct {
	// Name is the engine's: ConfigJsonError, ConfigInvalidError.
	Name string
	// Path is that of the file.
	Path string
	// Keys lead to the first value that is wrong, joined by dots; empty when the file cannot be parsed.
	Keys string
}

func (e *ConfigurationError) Error() string {
	text := "the engine cannot use its file " + e.Path + " (" + e.Name
	if e.Keys != "" {
		text += " at " + e.Keys
	}
	return text + "), correct it and reload the engine"
}

// Configuration reads GET /config: all the engine's sources merged, as they count now for the directory. `tools` are
// part of `permission` by then.
func (c *Client) Configuration(ctx context.Context, directory string) (Configuration, error) {
	return c.configuration(ctx, c.read("read engine configuration", directory, "config"))
}

// GlobalConfiguration reads GET /global/config: the user's own configuration alone, as it is written.
func (c *Client) GlobalConfiguration(ctx context.Context) (Configuration, error) {
	return c.configuration(ctx, c.read("read global engine configuration", "", "global", "config"))
}

func (c *Client) configuration(ctx context.Context, req httpclient.Request) (Configuration, error) {
	resp, err := c.http.Do(ctx, req)
	if err != nil {
		return Configuration{}, explainConfiguration(resp, err)
	}
	var out Configuration
	return out, httpclient.Decode(req.Op, resp, &out)
}

// explainConfiguration leaves the engine's messages out: they quote the file.
func explainConfiguration(resp *httpclient.Response, err error) error {
	var (
		fault *httpclient.Error
		body  struct {
			Name string `json:"name"`
			Data struct {
				Path   string `json:"path"`
				Issues []struct {
					Path []any `json:"path"`
				} `json:"issues"`
			} `json:"data"`
		}
	)
	if resp == nil || !errors.As(err, &fault) || json.Unmarshal(resp.Body, &body) != nil ||
		!strings.HasPrefix(body.Name, "Config") || body.Data.Path == "" {
		return err
	}
	cause := &ConfigurationError{Name: body.Name, Path: body.Data.Path}
	if len(body.Data.Issues) > 0 {
		var keys []string
		for _, key := range body.Data.Issues[0].Path {
			if text, ok := key.(string); ok {
				keys = append(keys, text)
			}
		}
		cause.Keys = strings.Join(keys, ".")
	}
	return &httpclient.Error{Op: fault.Op, Kind: fault.Kind, Status: fault.Status, Cause: cause}
}
