package api

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const (
	defaultTools = 50
	maxTools     = 100
)

// toolItem is one tool of a list.
type toolItem struct {
	views.Tool

	Name string `json:"name"`
}

func toolItemOf(t catalog.Tool) toolItem { return toolItem{Tool: views.ToolOf(t), Name: t.Name} }

// toolList are tools that were found.
type toolList struct {
	Items []toolItem `json:"items"`
}

// toolView is one tool with its schemas.
type toolView struct {
	toolItem

	Input  json.RawMessage `json:"inputSchema"`
	Output json.RawMessage `json:"outputSchema,omitempty"`
}

func getTools(a *API, c *call) (*reply, error) {
	limit := defaultTools
	if text := c.query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxTools {
			return nil, failf(CodeInvalidPayload, "limit must be a number from 1 to %d.", maxTools)
		}
		limit = n
	}
	hits, err := a.Tools.Search(c.Context(), c.query.Get("query"), limit)
	if err != nil {
		return nil, executionFault(err)
	}
	list := toolList{Items: []toolItem{}}
	for _, hit := range hits {
		if a.visible(c, hit.Tool) {
			list.Items = append(list.Items, toolItemOf(hit.Tool))
		}
	}
	return ok(list)
}

func getTool(a *API, c *call) (*reply, error) {
	address := c.path("address")
	tool, err := a.Tools.Lookup(c.Context(), address)
	if errors.Is(err, catalog.ErrNoTool) || err == nil && !a.visible(c, tool) {
		return nil, noTool(a.suggest(c, address))
	}
	if err != nil {
		return nil, executionFault(err)
	}
	return ok(toolView{toolItem: toolItemOf(tool), Input: tool.Input, Output: tool.Output})
}

// suggest names tools like one that is not known, without those that the caller may not see.
func (a *API) suggest(c *call, address string) []string {
	var some []string
	for _, other := range a.Tools.Suggest(address) {
		if tool, err := a.Tools.Lookup(c.Context(), other); err == nil && a.visible(c, tool) {
			some = append(some, other)
		}
	}
	return some
}

func (a *API) visible(c *call, tool catalog.Tool) bool {
	return a.Visible == nil || a.Visible(c.principal.Identity, tool)
}
