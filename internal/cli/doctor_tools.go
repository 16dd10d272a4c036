package cli

import (
	"context"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
)

// examineTools looks at the rules, and asks every source for its tools.
func (s *session) examineTools(ctx context.Context, found *findings) {
	files, err := s.toolFiles()
	if err != nil || files.Sources == "" {
		return // a damaged file of dev is told where Temporal is looked for; without sources there are no tools
	}
	tools, err := s.tools()
	if err != nil {
		found.fail("tools", "correct the file; what runs goes on with what it has read, and does not start again like this", "%v", err)
		return
	}
	if files.Rules != "" {
		found.ok("rules", "%s can be read, in %s", count(len(tools.rules.Current().Rules), "rule"), files.Rules)
	}
	_ = tools.catalog.Refresh(ctx, "") // each source tells below how it is
	for _, source := range tools.catalog.Status() {
		subject := "source " + source.Name
		if source.State == catalog.StateUp {
			found.ok(subject, "%s listed, over %s", count(source.Tools, "tool"), source.Transport)
			continue
		}
		found.fail(subject, sourceAction(source), "its tools are not known: %s", whyNot(source))
	}
}

// sourceAction is the next step for a source whose tools are not known.
func sourceAction(source catalog.Status) string {
	switch {
	case source.Code == catalog.CodeUnauthorized:
		return fmt.Sprintf("renew the token in mcpServers.%s.headers", source.Name)
	case source.Transport == "stdio":
		return fmt.Sprintf("run the command of mcpServers.%s by hand: it must be found, and speak MCP on its standard streams", source.Name)
	default:
		return fmt.Sprintf("start it, or correct mcpServers.%s.url: it is the address of the MCP endpoint itself, such as http://…/mcp", source.Name)
	}
}
