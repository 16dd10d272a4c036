package telemetry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/internal/telemetry"
)

// lookup is an environment of its own.
func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func newTelemetry(t *testing.T, o telemetry.Options) *telemetry.Telemetry {
	t.Helper()
	o.Output = io.Discard
	if o.LookupEnv == nil {
		o.LookupEnv = lookup(nil)
	}
	made, err := telemetry.New(t.Context(), o)
	require.NoError(t, err)
	return made
}

func TestMetricsOfTheSDKAreServedInThePrometheusFormat(t *testing.T) {
	t.Parallel()
	made := newTelemetry(t, telemetry.Options{})
	sdk := made.Metrics.Temporal().WithTags(map[string]string{"operation": "StartWorkflow"})
	sdk.Counter("temporal_request_failure").Inc(2)
	sdk.Timer("temporal_request_latency").Record(30 * time.Millisecond)
	sdk.Gauge("temporal_num_pollers").Update(4)

	recorder := httptest.NewRecorder()
	made.Metrics.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))

	body := recorder.Body.String()
	require.Contains(t, body, `temporal_request_failure_total{operation="StartWorkflow"} 2`)
	require.Contains(t, body, `temporal_request_latency_seconds_bucket{operation="StartWorkflow",le="0.05"} 1`)
	require.Contains(t, body, `temporal_request_latency_seconds_bucket{operation="StartWorkflow",le="0.025"} 0`)
	require.Contains(t, body, `temporal_num_pollers{operation="StartWorkflow"} 4`)
	require.Contains(t, body, "go_goroutines")
	require.NoError(t, made.Shutdown(t.Context()))
}

func TestMetricThatCannotBeMadeIsLoggedAndNotFatal(t *testing.T) {
	t.Parallel()
	var written strings.Builder
	logger, err := telemetry.NewLogger(&written, telemetry.FormatText, slog.LevelInfo)
	require.NoError(t, err)
	metrics, err := telemetry.NewMetrics(logger)
	require.NoError(t, err)

	metrics.Temporal().Counter("not a metric name\x00").Inc(1)

	require.Contains(t, written.String(), "make metric")
	require.NoError(t, metrics.Shutdown(t.Context()))
}

func TestTracingIsOffUnlessThereIsAnEndpoint(t *testing.T) {
	t.Parallel()
	off := newTelemetry(t, telemetry.Options{})
	require.Nil(t, off.Tracing)
	require.Empty(t, off.Interceptors())

	on := newTelemetry(t, telemetry.Options{LookupEnv: lookup(map[string]string{telemetry.EndpointEnv: "http://127.0.0.1:1"})})
	require.NotNil(t, on.Tracing)
	require.Len(t, on.Interceptors(), 1)
	require.NoError(t, on.Shutdown(t.Context()))
}

func TestSpansOfActivitiesAreExportedWithoutSecrets(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	made := newTelemetry(t, telemetry.Options{SpanExporter: exporter, Service: telemetry.Service{Role: "test", Version: "1"}})
	traced, ok := made.Interceptors()[0].(interceptor.WorkerInterceptor)
	require.True(t, ok)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(telemetry.SDKLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{traced}})
	failing := func(context.Context) error { return errors.New("refused " + canary) }
	env.RegisterActivity(failing)

	_, err := env.ExecuteActivity(failing)
	require.Error(t, err)
	require.NoError(t, made.Tracing.Flush(t.Context()))

	spans := exporter.GetSpans()
	require.Len(t, spans, 1)
	require.Equal(t, codes.Error, spans[0].Status.Code)
	require.Contains(t, spans[0].Status.Description, "refused")
	require.NotContains(t, spans[0].Status.Description, canary)
	require.NotEmpty(t, spans[0].Events)
	for _, event := range spans[0].Events {
		for _, attribute := range event.Attributes {
			require.NotContains(t, attribute.Value.String(), canary)
		}
	}
	require.Contains(t, spans[0].Resource.String(), "service.name=holdfast-test")
	require.NoError(t, made.Shutdown(t.Context()))
}
