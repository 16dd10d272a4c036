package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// redactingExporter redacts spans on their way out: the tracing interceptor puts the whole text of an error into them.
type redactingExporter struct {
	next sdktrace.SpanExporter
}

// ExportSpans passes redacted views on.
func (e redactingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	clean := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, span := range spans {
		clean[i] = redactedSpan{span}
	}
	return e.next.ExportSpans(ctx, clean)
}

// Shutdown ends the wrapped exporter.
func (e redactingExporter) Shutdown(ctx context.Context) error { return e.next.Shutdown(ctx) }

// redactedSpan is a span whose texts are redacted when they are read.
type redactedSpan struct {
	sdktrace.ReadOnlySpan
}

// Attributes are the redacted attributes.
func (s redactedSpan) Attributes() []attribute.KeyValue {
	return redactAttributes(s.ReadOnlySpan.Attributes())
}

// Status has a redacted description.
func (s redactedSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	status.Description = redact.String(status.Description)
	return status
}

// Events have redacted attributes; a recorded error is one.
func (s redactedSpan) Events() []sdktrace.Event {
	events := s.ReadOnlySpan.Events()
	clean := make([]sdktrace.Event, len(events))
	for i, event := range events {
		event.Attributes = redactAttributes(event.Attributes)
		clean[i] = event
	}
	return clean
}

// redactAttributes redacts texts; other kinds hold no secrets.
func redactAttributes(attributes []attribute.KeyValue) []attribute.KeyValue {
	clean := make([]attribute.KeyValue, len(attributes))
	for i, kv := range attributes {
		clean[i] = kv
		switch kv.Value.Type() { //nolint:exhaustive // numbers and booleans pass as they are
		case attribute.STRING:
			if text, ok := redactKeyed(string(kv.Key), kv.Value.AsString()).(string); ok {
				clean[i] = kv.Key.String(text)
			}
		case attribute.STRINGSLICE:
			texts := kv.Value.AsStringSlice()
			for j, text := range texts {
				texts[j] = redact.String(text)
			}
			clean[i] = kv.Key.StringSlice(texts)
		}
	}
	return clean
}
