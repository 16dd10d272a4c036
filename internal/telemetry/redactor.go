package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// Redactor is a slog handler that takes secrets out of messages and attributes before another handler writes them. It is the
// last wall: what logs should not pass secrets at all, but errors of libraries quote what they were given.
type Redactor struct {
	next slog.Handler
}

var _ slog.Handler = (*Redactor)(nil)

// NewRedactor wraps a handler.
func NewRedactor(next slog.Handler) *Redactor { return &Redactor{next: next} }

// Enabled asks the wrapped handler.
func (r *Redactor) Enabled(ctx context.Context, level slog.Level) bool {
	return r.next.Enabled(ctx, level)
}

// Handle redacts a record and passes it on.
func (r *Redactor) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, redact.String(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(redactAttr(attr))
		return true
	})
	return r.next.Handle(ctx, clean)
}

// WithAttrs redacts attributes once, for all records that carry them.
func (r *Redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, attr := range attrs {
		clean[i] = redactAttr(attr)
	}
	return &Redactor{next: r.next.WithAttrs(clean)}
}

// WithGroup opens a group in the wrapped handler.
func (r *Redactor) WithGroup(name string) slog.Handler {
	return &Redactor{next: r.next.WithGroup(name)}
}

// redactAttr redacts one attribute. A sensitive key hides its value whatever it looks like; numbers, times and durations hold
// no secrets and keep their kind.
func redactAttr(attr slog.Attr) slog.Attr {
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.Any(attr.Key, redactText(attr.Key, value.String()))
	case slog.KindGroup:
		members := value.Group()
		clean := make([]slog.Attr, len(members))
		for i, member := range members {
			clean[i] = redactAttr(member)
		}
		return slog.Attr{Key: attr.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.Any(attr.Key, redactAny(attr.Key, value.Any()))
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindTime, slog.KindUint64, slog.KindLogValuer:
		return slog.Attr{Key: attr.Key, Value: value}
	default:
		return slog.Any(attr.Key, redactAny(attr.Key, value.Any()))
	}
}

// redactAny redacts a value of any type: what has a text of its own is logged as that text, the rest in its JSON form.
func redactAny(key string, value any) any {
	switch value := value.(type) {
	case error:
		return redactText(key, safely(value.Error))
	case fmt.Stringer:
		return redactText(key, safely(value.String))
	default:
		return redactKeyed(key, value)
	}
}

// redactText redacts a text under its key.
func redactText(key, text string) any { return redactKeyed(key, text) }

// redactKeyed lets the rules see the key beside its value.
func redactKeyed(key string, value any) any {
	object, ok := redact.Value(map[string]any{key: value}).(map[string]any)
	if !ok {
		return redact.Marker
	}
	return object[key]
}

// safely calls a method of a value that may be a nil pointer, as slog itself does: a log line must never end the process.
func safely(text func() string) (result string) {
	defer func() {
		if recover() != nil {
			result = "<nil>"
		}
	}()
	return text()
}
