package cli

import (
	"io"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/holdfast-mcp/holdfast/internal/domain/text"
)

// screen is where everything is written to: tables, texts, errors and JSON. Much of it was written by others, and must not act on the
// terminal of the person who reads it and decides. Each write is whole text.
type screen struct{ to io.Writer }

// Write implements [io.Writer].
func (s screen) Write(p []byte) (int, error) {
	if _, err := io.WriteString(s.to, text.Visible(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// grid is a table of what can be seen: its columns are as wide as what is shown.
type grid struct{ table.Writer }

// AppendRow implements [table.Writer].
func (g grid) AppendRow(row table.Row, configs ...table.RowConfig) {
	shown := make(table.Row, len(row))
	for i, cell := range row {
		if words, isText := cell.(string); isText {
			cell = text.Visible(words)
		}
		shown[i] = cell
	}
	g.Writer.AppendRow(shown, configs...)
}
