package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
)

// EndpointEnv is the variable that turns tracing on. The exporter reads it, and the other OTEL_EXPORTER_OTLP_* variables, itself.
const EndpointEnv = "OTEL_EXPORTER_OTLP_ENDPOINT"

// Tracing makes and exports spans.
type Tracing struct {
	provider    *sdktrace.TracerProvider
	interceptor interceptor.Interceptor
}

// Service names this process in traces.
type Service struct {
	// Role is worker, gateway or another part of Holdfast; Version its build.
	Role    string
	Version string
}

// NewOTLPTracing exports over OTLP by HTTP to the endpoint in the environment. It opens no connection yet.
func NewOTLPTracing(ctx context.Context, service Service) (*Tracing, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("make trace exporter: %w", err)
	}
	return NewTracing(exporter, service)
}

// NewTracing exports to any exporter, with error texts and attributes redacted.
func NewTracing(exporter sdktrace.SpanExporter, service Service) (*Tracing, error) {
	described := resource.NewSchemaless(
		attribute.String("service.name", "holdfast-"+service.Role),
		attribute.String("service.version", service.Version))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(redactingExporter{next: exporter}),
		sdktrace.WithResource(described))
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: provider.Tracer("temporal-sdk-go"),
	})
	if err != nil {
		return nil, fmt.Errorf("make tracing interceptor: %w", err)
	}
	return &Tracing{provider: provider, interceptor: tracing}, nil
}

// Interceptor traces clients, workflows and activities. Give it to the client's options only: workers take it from there, and
// setting it twice doubles every span.
func (t *Tracing) Interceptor() interceptor.ClientInterceptor { return t.interceptor }

// Tracer makes spans of a component.
func (t *Tracing) Tracer(component string) trace.Tracer { return t.provider.Tracer(component) }

// Flush exports what has ended so far.
func (t *Tracing) Flush(ctx context.Context) error {
	if err := t.provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("flush traces: %w", err)
	}
	return nil
}

// Shutdown exports the rest and ends tracing.
func (t *Tracing) Shutdown(ctx context.Context) error {
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop traces: %w", err)
	}
	return nil
}
