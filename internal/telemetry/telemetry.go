package telemetry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/interceptor"
)

// Options describe the telemetry of a process.
type Options struct {
	Service Service

	// Output gets the log; nil means standard error.
	Output io.Writer
	Format Format
	Level  slog.Level

	// LookupEnv overrides os.LookupEnv, SpanExporter the OTLP exporter; one given is used whatever the environment says.
	LookupEnv    func(string) (string, bool)
	SpanExporter sdktrace.SpanExporter
}

// Telemetry is the logger, the metrics and the traces of one process.
type Telemetry struct {
	Logger  *slog.Logger
	Metrics *Metrics
	// Tracing is nil unless OTEL_EXPORTER_OTLP_ENDPOINT is set.
	Tracing *Tracing
}

// New makes them. It opens no connection.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	output := o.Output
	if output == nil {
		output = os.Stderr
	}
	logger, err := NewLogger(output, o.Format, o.Level)
	if err != nil {
		return nil, err
	}
	metrics, err := NewMetrics(logger)
	if err != nil {
		return nil, err
	}
	tracing, err := o.tracing(ctx)
	if err != nil {
		return nil, errors.Join(err, metrics.Shutdown(ctx))
	}
	return &Telemetry{Logger: logger, Metrics: metrics, Tracing: tracing}, nil
}

// tracing is on where there is somewhere to send spans to.
func (o Options) tracing(ctx context.Context) (*Tracing, error) {
	if o.SpanExporter != nil {
		return NewTracing(o.SpanExporter, o.Service)
	}
	lookup := o.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	if endpoint, _ := lookup(EndpointEnv); endpoint == "" {
		return nil, nil //nolint:nilnil // no tracing is a valid state
	}
	return NewOTLPTracing(ctx, o.Service)
}

// Interceptors are for client.Options.
func (t *Telemetry) Interceptors() []interceptor.ClientInterceptor {
	if t.Tracing == nil {
		return nil
	}
	return []interceptor.ClientInterceptor{t.Tracing.Interceptor()}
}

// Shutdown exports what is left, within ctx, and ends collection.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var err error
	if t.Tracing != nil {
		err = t.Tracing.Shutdown(ctx)
	}
	return errors.Join(err, t.Metrics.Shutdown(ctx))
}
