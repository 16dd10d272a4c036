package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/telemetry"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const (
	httpDrain = 5 * time.Second
	flush     = 5 * time.Second
)

// Options are what a process needs beside its settings.
type Options struct {
	Config  config.Config
	Version string

	// Address and Namespace of Temporal override TEMPORAL_* when not empty.
	Address   string
	Namespace string
	// LogOutput gets the log; nil is standard error.
	LogOutput io.Writer
	// SpanExporter overrides the OTLP exporter; for tests.
	SpanExporter sdktrace.SpanExporter
}

// role is what a process is, in logs, traces and Temporal's lists.
type role string

const (
	roleWorker  role = "worker"
	roleGateway role = "gateway"
)

// common is what every process has: telemetry, keys and store, and the Temporal client.
func common(o Options, r role) fx.Option {
	return fx.Options(
		fx.Supply(o, r),
		telemetry.Module,
		telemetry.FxLogger,
		temporalclient.Module,
		fx.Provide(telemetryOptions, openKeys, openStore, temporalOptions, provideRules, providePolicy, provideCatalog),
	)
}

func telemetryOptions(o Options, r role) telemetry.Options {
	return telemetry.Options{
		Service:      telemetry.Service{Role: string(r), Version: o.Version},
		Output:       o.LogOutput,
		Format:       telemetry.Format(o.Config.Log.Format),
		Level:        o.Config.Log.SlogLevel(),
		SpanExporter: o.SpanExporter,
	}
}

// openKeys makes keysets only for a store that does not exist yet: new ones beside an old database would open nothing and
// stand in the way of a backup.
func openKeys(o Options) (*keys.Keys, error) {
	cfg := o.Config
	if _, err := os.Stat(cfg.Store.Path); err == nil && !keys.Present(cfg.Keys.Dir) {
		return nil, fmt.Errorf("%s was written with keysets that are not in %s: restore them from a backup",
			cfg.Store.Path, cfg.Keys.Dir)
	}
	return keys.Open(cfg.Keys.Dir)
}

func openStore(lc fx.Lifecycle, o Options, k *keys.Keys) (*store.Store, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := store.Open(ctx, store.Options{Path: o.Config.Store.Path, Keys: k})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(s.Close))
	return s, nil
}

// TemporalParams are what the Temporal client is made of.
type TemporalParams struct {
	fx.In

	Options      Options
	Role         role
	Keys         *keys.Keys
	Logger       sdklog.Logger
	Metrics      client.MetricsHandler
	Interceptors []interceptor.ClientInterceptor
}

func temporalOptions(p TemporalParams) temporalclient.Options {
	return temporalclient.Options{
		Role: string(p.Role), Version: p.Options.Version, Address: p.Options.Address, Namespace: p.Options.Namespace,
		AEAD: p.Keys.AEAD(), Logger: p.Logger, Metrics: p.Metrics, Interceptors: p.Interceptors,
	}
}
