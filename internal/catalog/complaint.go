package catalog

import (
	"bytes"
	"context"
	"io"
	"log/slog"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

const maxLine = 2000

// complaint passes on what a child process writes to its error stream, line by line and redacted, to the log at debug level: without it
// nobody could tell why a program does not start.
type complaint struct {
	log    *slog.Logger
	source string
	line   []byte
}

// complaints is nil, which discards, where nobody would read it.
func complaints(log *slog.Logger, source string) io.Writer {
	if !log.Enabled(context.Background(), slog.LevelDebug) {
		return nil
	}
	return &complaint{log: log, source: source}
}

// Write implements [io.Writer].
func (c *complaint) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(c.line); room > 0 {
			c.line = append(c.line, part[:min(room, len(part))]...)
		}
		if ended && len(bytes.TrimSpace(c.line)) > 0 {
			c.log.Debug("source says", "source", c.source, "line", redact.String(string(c.line)))
		}
		if ended {
			c.line = c.line[:0]
		}
		rest = after
	}
	return len(p), nil
}
