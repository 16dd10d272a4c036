package telemetry

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
)

// Module provides, from the Options in the graph, the logger, the metrics and what a Temporal client takes of them. It is first
// to start and so last to stop: what the others say while they stop is still exported.
var Module = fx.Module("telemetry", fx.Provide(provide))

// FxLogger makes fx log through the process's logger.
var FxLogger = fx.WithLogger(func(logger *slog.Logger) fxevent.Logger {
	events := &fxevent.SlogLogger{Logger: logger.With(KeyComponent, "fx")}
	events.UseLogLevel(slog.LevelDebug)
	return events
})

// Params are what the telemetry needs.
type Params struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
}

// Result is what it gives.
type Result struct {
	fx.Out

	Telemetry    *Telemetry
	Logger       *slog.Logger
	Metrics      *Metrics
	SDKLogger    log.Logger
	SDKMetrics   client.MetricsHandler
	Interceptors []interceptor.ClientInterceptor
}

func provide(p Params) (Result, error) {
	// The exporter keeps no context: it dials when the first spans are sent.
	made, err := New(context.Background(), p.Options)
	if err != nil {
		return Result{}, err
	}
	p.Lifecycle.Append(fx.StopHook(made.Shutdown))
	return Result{
		Telemetry:    made,
		Logger:       made.Logger,
		Metrics:      made.Metrics,
		SDKLogger:    SDKLogger(made.Logger),
		SDKMetrics:   made.Metrics.Temporal(),
		Interceptors: made.Interceptors(),
	}, nil
}
