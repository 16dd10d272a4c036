package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// latencyBounds are the upper bounds of latency histograms, in seconds: from a local activity to a slow repair.
var latencyBounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// Metrics are the metrics of one process, in a registry of their own.
type Metrics struct {
	registry *prometheus.Registry
	provider *sdkmetric.MeterProvider
	temporal client.MetricsHandler
}

// NewMetrics makes an empty set with the Go runtime's and the process's own metrics. A metric that cannot be made is logged,
// not fatal: losing one must not stop a worker.
func NewMetrics(logger *slog.Logger) (*Metrics, error) {
	registry := prometheus.NewRegistry()
	err := errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("make metrics: %w", err)
	}
	inSeconds := sdkmetric.NewView(
		sdkmetric.Instrument{Unit: "s", Kind: sdkmetric.InstrumentKindHistogram},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: latencyBounds}})
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithView(inSeconds))
	return &Metrics{
		registry: registry,
		provider: provider,
		temporal: opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
			Meter:                provider.Meter("temporal-sdk-go"),
			OnError:              func(err error) { logger.Error("make metric", KeyError, err) },
			UseMonotonicCounters: true,
		}),
	}, nil
}

// Handler serves the metrics in the Prometheus format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Temporal is the handler for client.Options: metrics of the SDK and those that workflows and activities make through it.
func (m *Metrics) Temporal() client.MetricsHandler { return m.temporal }

// Meter makes instruments of a component, such as "holdfast/gateway". Give histograms of durations the unit "s".
func (m *Metrics) Meter(component string) metric.Meter { return m.provider.Meter(component) }

// Shutdown ends collection.
func (m *Metrics) Shutdown(ctx context.Context) error {
	if err := m.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop metrics: %w", err)
	}
	return nil
}
