package web

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// maxSays and maxSaysLines bound what a source says of its tool: it must not push the question out of sight.
	maxSays      = 500 // characters
	maxSaysLines = 8
	maxLine      = 120 // characters of a line of arguments
	// lineLimit is up to how many bytes arguments are read for their line; longer ones are told by their length. An inbox reads
	// inboxLimit times as much at most.
	lineLimit = 8 << 10
)

// says is the description of a tool as its source gives it, without empty lines; empty where the tool is not known now.
func (w *Web) says(address string) string {
	tool, err := w.Tools.Known(address)
	if err != nil {
		return ""
	}
	text, cut := clip(strings.TrimSpace(tool.Description), maxSays)
	var shown []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if len(shown) == maxSaysLines {
			cut = true
			break
		}
		shown = append(shown, line)
	}
	text = strings.Join(shown, "\n")
	if cut {
		text += "…"
	}
	return text
}

// clip is the beginning of a text: at most so many characters.
func clip(text string, most int) (begin string, cut bool) {
	count := 0
	for at := range text {
		if count == most {
			return text[:at], true
		}
		count++
	}
	return text, false
}

// addLines gives each item the line of its arguments, which tells calls of one tool apart. Arguments never change: lines that were made
// before are not made again. The list does without where they cannot be read now.
func (w *Web) addLines(ctx context.Context, items, before []inboxItem) {
	made := map[string]string{}
	for _, item := range before {
		made[item.Key] = item.Line
	}
	var missing []string
	for i := range items {
		item := &items[i]
		if item.Line = made[item.Key]; item.Line == "" {
			missing = append(missing, item.Key)
		}
	}
	found, err := w.Store.Arguments(ctx, missing, lineLimit)
	if err != nil {
		w.log.WarnContext(ctx, "arguments cannot be read for the inbox", "error", err)
	}
	for i := range items {
		item := &items[i]
		if arguments, there := found[item.Key]; there && item.Line == "" {
			item.Line = w.line(item.Address, arguments)
		}
	}
}

// line is the beginning of arguments as the tool's page shows them, in one line. It is empty while it is not known which of them are
// secrets: the source was not listed yet.
func (w *Web) line(address string, arguments store.SizedArguments) string {
	if arguments.JSON == nil {
		return fmt.Sprintf("%d KiB of arguments", arguments.Size>>10)
	}
	tool, err := w.Tools.Known(address)
	if err != nil && !errors.Is(err, catalog.ErrNoTool) {
		return ""
	}
	text, cut := clip(string(executions.Mask(arguments.JSON, tool.Input)), maxLine)
	if cut {
		text += "…"
	}
	return text
}
