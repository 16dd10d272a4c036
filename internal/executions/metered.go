package executions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// metered counts what is asked for by Execute. Everything else is its engine's own: what was asked for once is not counted again when it
// is resumed or read.
type metered struct {
	Engine
	calls   metric.Int64Counter
	seconds metric.Float64Histogram
}

// Metered counts calls by how their caller was answered, and how long that took: holdfast_tool_calls_total{outcome} and
// holdfast_tool_call_seconds{outcome}.
func Metered(engine Engine, meter metric.Meter) (Engine, error) {
	calls, err := meter.Int64Counter("holdfast.tool.calls", metric.WithDescription("Tool calls by how their caller was answered"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	seconds, err := meter.Float64Histogram("holdfast.tool.call", metric.WithUnit("s"),
		metric.WithDescription("How long callers of tools waited for their answer"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return &metered{Engine: engine, calls: calls, seconds: seconds}, nil
}

// Execute implements [Engine].
func (m *metered) Execute(ctx context.Context, who Caller, call Call) (Report, error) {
	began := time.Now()
	report, err := m.Engine.Execute(ctx, who, call)
	label := metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", label(report, err))))
	m.calls.Add(ctx, 1, label)
	m.seconds.Record(ctx, time.Since(began).Seconds(), label)
	return report, err
}

func label(report Report, err error) string {
	var (
		denied      *DeniedError
		unknown     *UnknownToolError
		arguments   *ArgumentsError
		unavailable *UnavailableError
		unanswered  *UnansweredError
	)
	switch {
	case errors.As(err, &denied):
		return "denied"
	case errors.As(err, &unknown):
		return "tool_not_found"
	case errors.As(err, &arguments):
		return "invalid_arguments"
	case errors.As(err, &unavailable), errors.As(err, &unanswered):
		return "unavailable"
	case err != nil:
		return "internal"
	case report.Outcome == nil:
		return string(report.Status)
	case report.Outcome.Kind == approval.OutcomeCompleted && report.Outcome.ToolError:
		return "tool_error"
	default:
		return string(report.Outcome.Kind)
	}
}
