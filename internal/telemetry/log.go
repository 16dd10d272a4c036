package telemetry

import (
	"fmt"
	"io"
	"log/slog"

	"go.temporal.io/sdk/log"
)

// Format is the form of a log line.
type Format string

// The formats of a log.
const (
	FormatText Format = "text"
	FormatJSON Format = "json"
)

// Valid reports whether f is one of the formats.
func (f Format) Valid() bool { return f == FormatText || f == FormatJSON }

// NewLogger returns a logger that writes lines of level and above to w, redacted. An empty format means text.
func NewLogger(w io.Writer, format Format, level slog.Leveler) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: level}
	switch format {
	case FormatText, "":
		return slog.New(NewRedactor(slog.NewTextHandler(w, options))), nil
	case FormatJSON:
		return slog.New(NewRedactor(slog.NewJSONHandler(w, options))), nil
	default:
		return nil, fmt.Errorf("make logger: format %q is neither text nor json", format)
	}
}

// SDKLogger adapts a logger to the Temporal SDK.
func SDKLogger(logger *slog.Logger) log.Logger { return log.NewStructuredLogger(logger) }
