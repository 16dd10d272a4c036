package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

const (
	maxPages = 1000
	maxTools = 10_000 // of one source
)

var (
	toolNamePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	errPages        = errors.New("list tools: there are too many pages")
	errListing      = errors.New("list tools: the answer is no list of tools")
)

// wireTool is a tool as a source lists it. The MCP client's own type cannot tell a hint that is false from one that is absent.
type wireTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// list reads all pages of tools by a session, each as the source has it. Pages are those that the client kept from before, by cursor:
// where the source allows that, it is not asked again.
func list(ctx context.Context, s *session, pages map[string]json.RawMessage) ([]json.RawMessage, error) {
	var tools []json.RawMessage
	cursor := ""
	for range maxPages {
		a := &attempt{done: ctx.Done()}
		_, err := s.client.ListTools(withAttempt(ctx, a), &mcp.ListToolsParams{Cursor: cursor})
		a.end()
		raw := a.result()
		if err != nil && raw == nil { // one odd tool is no reason to do without the others
			return nil, &openError{status: a.httpStatus(), err: fmt.Errorf("list tools: %w", err)}
		}
		if raw == nil {
			raw = pages[cursor]
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, errListing
		}
		pages[cursor] = raw
		if tools = append(tools, page.Tools...); len(tools) > maxTools {
			return nil, fmt.Errorf("list tools: there are more than %d", maxTools)
		}
		if page.NextCursor == "" {
			s.listed.Store(true)
			return tools, nil
		}
		cursor = page.NextCursor
	}
	return nil, errPages
}

// parseTools makes tools of what a source lists. What cannot be offered is left out, and told in the log.
func parseTools(source string, raw []json.RawMessage, log *slog.Logger) []Tool {
	tools := make([]Tool, 0, len(raw))
	seen := map[string]bool{}
	for i, each := range raw {
		tool, problem := parseTool(source, each)
		if problem == "" && seen[tool.Name] {
			problem = "its name is that of another one"
		}
		if problem != "" {
			log.Warn("tool left out", "source", source, "number", i+1, "problem", problem)
			continue
		}
		seen[tool.Name] = true
		tools = append(tools, tool)
	}
	return tools
}

func parseTool(source string, raw json.RawMessage) (tool Tool, problem string) {
	var wire wireTool
	if err := json.Unmarshal(raw, &wire); err != nil {
		return Tool{}, "it is no tool"
	}
	if !toolNamePattern.MatchString(wire.Name) {
		return Tool{}, "its name is not 1 to 128 of A-Z a-z 0-9 _ . -"
	}
	if len(wire.InputSchema) == 0 || bytes.Equal(wire.InputSchema, []byte("null")) {
		wire.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if bytes.Equal(wire.OutputSchema, []byte("null")) {
		wire.OutputSchema = nil
	}
	tool = Tool{
		Address: source + "." + wire.Name, Source: source, Name: wire.Name,
		Title: wire.Title, Description: wire.Description,
		Input: wire.InputSchema, Output: wire.OutputSchema, Raw: raw,
	}
	tool.Annotations, tool.Title = annotationsOf(wire.Annotations, wire.Title)
	return tool, ""
}

// annotationsOf reads hints. What cannot be understood counts as absent, which is the careful reading.
func annotationsOf(raw json.RawMessage, title string) (policy.Annotations, string) {
	if len(raw) == 0 {
		return policy.Annotations{}, title
	}
	var hints policy.Annotations
	if err := json.Unmarshal(raw, &hints); err != nil {
		hints = policy.Annotations{}
	}
	var named struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(raw, &named); err == nil && title == "" {
		title = named.Title
	}
	return hints, title
}
