package engineapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// maxProviders bounds how much of the list of providers is read.
const maxProviders = 32 << 20

var (
	errNoProviders = errors.New("it has no list of providers")
	errNoToolID    = errors.New("a tool has no id")
)

// Model is what an engine knows of one model.
type Model struct {
	Exists bool
	// ToolCall tells whether it can call tools; false where the model does not exist.
	ToolCall bool
}

// Model reads one model from GET /config/providers: those that the engine can run. A model of a provider that it knows
// and has no credentials for does not exist there, and a prompt for it fails. The list is read one provider at a time, up
// to the one that is asked for. (GET /provider lists all that is known anywhere: 6.4 MB and half a second.)
func (c *Client) Model(ctx context.Context, directory, provider, model string) (Model, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req := c.read("read models", directory, "config", "providers")
	stream, err := c.http.Open(ctx, req, c.timeout)
	if err != nil {
		return Model{}, err
	}
	defer stream.Close()
	found, err := findModel(io.LimitReader(stream, maxProviders), provider, model)
	var fault *httpclient.Error
	if err == nil || errors.As(err, &fault) {
		return found, err
	}
	return Model{}, httpclient.Malformed(req.Op, http.StatusOK, shapeOf(err))
}

// findModel reads {"providers":[{id, models}, …], …} as far as needed.
func findModel(body io.Reader, provider, model string) (Model, error) {
	decoder := json.NewDecoder(body)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return Model{}, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return Model{}, err
		}
		if key == "providers" {
			return findInProviders(decoder, provider, model)
		}
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			return Model{}, err
		}
	}
	return Model{}, errNoProviders
}

func findInProviders(decoder *json.Decoder, provider, model string) (Model, error) {
	if err := expect(decoder, json.Delim('[')); err != nil {
		return Model{}, err
	}
	for decoder.More() {
		var one struct {
			ID     string `json:"id"`
			Models map[string]struct {
				Capabilities struct {
					ToolCall bool `json:"toolcall"`
				} `json:"capabilities"`
			} `json:"models"`
		}
		if err := decoder.Decode(&one); err != nil {
			return Model{}, err
		}
		if one.ID == provider {
			found, ok := one.Models[model]
			return Model{Exists: ok, ToolCall: found.Capabilities.ToolCall}, nil
		}
	}
	return Model{}, expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	if err != nil {
		return err
	}
	if got != want {
		return errNoProviders
	}
	return nil
}

// shapeOf keeps the decoder's own words out of errors: they hold pieces of the body.
func shapeOf(err error) error {
	if errors.Is(err, errNoProviders) {
		return err
	}
	return errors.New("not a list of providers in json")
}

// ProviderTools reads GET /experimental/tool: the ids of the tools that a model of a provider would be given, of those that
// the engine lists. Engine 1.18.33 lists no MCP tools there and checks neither name.
func (c *Client) ProviderTools(ctx context.Context, directory, provider, model string) ([]string, error) {
	const op = "read tools of a model"
	req := c.read(op, directory, "experimental", "tool")
	query := req.URL.Query()
	query.Set("provider", provider)
	query.Set("model", model)
	req.URL.RawQuery = query.Encode()
	var out []struct {
		ID string `json:"id"`
	}
	if err := c.http.JSON(ctx, req, &out); err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(out))
	for _, tool := range out {
		if tool.ID == "" {
			return nil, httpclient.Malformed(op, http.StatusOK, errNoToolID)
		}
		ids = append(ids, tool.ID)
	}
	return ids, nil
}
