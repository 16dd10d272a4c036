package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const (
	// toolsLimit is how many tools a search shows where it is not told.
	toolsLimit = 50
	maxTools   = 1000
	// maxAbout is how much of a description a table has.
	maxAbout = 70
)

// toolView is one tool, with what the rules say of a call of it.
type toolView struct {
	views.Tool

	// Effect is allow, ask or deny, for this command line.
	Effect policy.Effect `json:"effect"`
	Why    string        `json:"why"`
	Input  any           `json:"inputSchema"`
}

func newToolSearch(a *App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "search [WORDS]",
		Aliases: []string{"list", "ls"},
		Short:   "Find tools by words, best first; without words list them",
		Long:    "Finds tools by words, best first, with what the rules say of a call by this command line.",
		Args:    func(*cobra.Command, []string) error { return nil },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if limit < 1 || limit > maxTools {
			return usagef("--limit must be 1 to %d", maxTools)
		}
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		tools, err := s.tools()
		if err != nil {
			return err
		}
		hits, err := tools.catalog.Search(ctx, strings.Join(args, " "), limit)
		if err != nil {
			return err
		}
		who := a.operator("")
		tools.saySilentSources(a)
		return toolListing.print(a, viewsOf(hits, func(hit catalog.Hit) toolView {
			return newToolView(hit.Tool, tools.verdict(who, hit.Tool))
		}))
	})
	cmd.Flags().IntVar(&limit, "limit", toolsLimit, "at most so many, up to 1000")
	return cmd
}

func newToolView(tool catalog.Tool, verdict policy.Verdict) toolView {
	return toolView{Tool: views.ToolOf(tool), Effect: verdict.Effect, Why: verdict.Reason, Input: tool.Input}
}

var toolListing = listing[toolView]{
	columns: []any{"tool", "a call is", "because of", "what it does"},
	row:     func(v toolView) []any { return []any{v.Address, v.Effect, v.Why, orNone(about(v))} },
	none:    "no tool is like that; all of them: holdfast tool search",
}

// about is the beginning of a description, on one line.
func about(v toolView) string {
	text := v.Description
	if text == "" {
		text = v.Title
	}
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxAbout {
		text = string(runes[:maxAbout]) + "…"
	}
	return text
}
