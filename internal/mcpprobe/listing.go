package mcpprobe

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	errNoTools     = errors.New("the answer to tools/list has no list of tools")
	errCursorLoop  = errors.New("tools/list gives the same cursor twice")
	errManyPages   = fmt.Errorf("tools/list has more than %d pages", maxPages)
	errNotJSONRPC  = errors.New("the answer is not a JSON-RPC message")
	errWrongAnswer = errors.New("the answer belongs to another request")
	errNoAnswer    = errors.New("the stream ended without an answer")
)

// pager asks for one page of tools/list.
type pager func(ctx context.Context, cursor string) (*mcp.ListToolsResult, error)

// list reads all pages and returns the names of the tools on them.
func list(ctx context.Context, page pager) ([]string, error) {
	names := []string{}
	cursor, seen := "", map[string]bool{}
	for range maxPages {
		result, err := page(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, tool := range result.Tools {
			if tool != nil {
				names = append(names, tool.Name)
			}
		}
		cursor = result.NextCursor
		switch {
		case cursor == "":
			return names, nil
		case seen[cursor]:
			return nil, errCursorLoop
		}
		seen[cursor] = true
	}
	return nil, errManyPages
}

// split sorts the expected tools into present and missing ones.
func split(expected, names []string) (present, missing []string) {
	listed := make(map[string]bool, len(names))
	for _, name := range names {
		listed[name] = true
	}
	present, missing = []string{}, []string{}
	for _, name := range expected {
		if listed[name] {
			present = append(present, name)
		} else {
			missing = append(missing, name)
		}
	}
	return present, missing
}
