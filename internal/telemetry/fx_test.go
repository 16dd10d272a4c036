package telemetry_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/holdfast-mcp/holdfast/internal/telemetry"
)

func TestModuleStartsAndStops(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	var made *telemetry.Telemetry
	app := fxtest.New(t, telemetry.Module, telemetry.FxLogger, fx.Populate(&made), fx.Supply(telemetry.Options{
		Output: io.Discard, SpanExporter: exporter,
	}))
	app.RequireStart()
	_, span := made.Tracing.Tracer("test").Start(t.Context(), "work")
	span.End()
	app.RequireStop()
}

func TestModuleRefusesAnUnknownFormat(t *testing.T) {
	t.Parallel()
	var logger *slog.Logger
	app := fx.New(telemetry.Module, fx.NopLogger, fx.Populate(&logger), fx.Supply(telemetry.Options{Format: "xml"}))
	require.ErrorContains(t, app.Err(), "xml")
}
