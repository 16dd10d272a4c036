package simulator

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// ErrNotOffered means that a server's tools are not offered to the model: it is not connected.
var ErrNotOffered = errors.New("tools of this server are not offered: it is not connected")

// ToolError is a failed tool call in the real engine's words.
type ToolError string

func (e ToolError) Error() string { return string(e) }

// ToolCall calls a tool of a registered server as an agent's turn would and returns the text of its answer. The error
// is ErrNotOffered or a ToolError; the server's status never changes by it.
func (e *Engine) ToolCall(ctx context.Context, directory, server, tool string) (string, error) {
	client := e.boot(e.current(), e.resolve(directory)).connected(server)
	if client == nil {
		return "", ErrNotOffered
	}
	return client.callTool(ctx, tool)
}

func (u *upstream) callTool(ctx context.Context, tool string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, orDefault(u.config.timeout, callTimeout))
	defer cancel()
	stop := context.AfterFunc(u.life, cancel) // a replaced client fails the calls that it has under way
	defer stop()
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	params := map[string]any{"name": tool, "arguments": struct{}{}}
	err := u.healing(ctx, func() error {
		_, err := u.request(ctx, "tools/call", params, &result)
		return err
	})
	switch {
	case err == nil:
	case u.life.Err() != nil:
		return "", ToolError("MCP error -32000: Connection closed")
	case errors.Is(err, context.DeadlineExceeded):
		return "", ToolError("MCP error -32001: Request timed out")
	default:
		return "", ToolError(callText(err))
	}
	var text strings.Builder
	for _, part := range result.Content {
		text.WriteString(part.Text)
	}
	return text.String(), nil
}

// healing repeats a request once in a new session when the server has forgotten the old one and says so with 404; any
// other answer is not understood as that.
func (u *upstream) healing(ctx context.Context, do func() error) error {
	err := do()
	var status *statusError
	if !errors.As(err, &status) || status.code != http.StatusNotFound {
		return err
	}
	if err := u.handshake(ctx); err != nil {
		return err
	}
	return do()
}

// listResources returns nothing when the server cannot be asked.
func (u *upstream) listResources() []map[string]any {
	ctx, cancel := context.WithTimeout(u.life, orDefault(u.config.timeout, connectTimeout))
	defer cancel()
	var result struct {
		Resources []map[string]any `json:"resources"`
	}
	err := u.healing(ctx, func() error {
		_, err := u.request(ctx, "resources/list", nil, &result)
		return err
	})
	if err != nil {
		return nil
	}
	return result.Resources
}

// watch holds the standing stream for as long as the server keeps it; most answer 405 at once. After a
// tools/list_changed the tools are listed again and changed is called.
func (u *upstream) watch(changed func()) {
	go func() {
		response, err := u.send(u.life, http.MethodGet, nil)
		if err != nil {
			return
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return
		}
		// The end of the stream goes unnoticed on purpose: so it does in the real engine.
		_ = readEvents(response.Body, func(data []byte) bool {
			if strings.Contains(string(data), `"notifications/tools/list_changed"`) {
				if u.within(u.life, orDefault(u.config.timeout, connectTimeout), u.listTools) == nil {
					changed()
				}
			}
			return true
		})
	}()
}
