package app

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/telemetry"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// callsEnd is how long tools that are being called may go on after a stop was asked for.
const callsEnd = 10 * time.Second

// sweepEvery is how often the gateway looks for executions whose runs are gone.
const sweepEvery = 5 * time.Minute

// EngineParams are what tool calls are made of.
type EngineParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Store     *store.Store
	Client    client.Client
	Catalog   *catalog.Sources
	Policy    policySource
	Metrics   *telemetry.Metrics
	Log       *slog.Logger
}

func provideEngine(p EngineParams) (executions.Engine, error) {
	cfg := p.Options.Config
	service := executions.New(executions.Params{
		Store: p.Store, Audit: p.Store, Catalog: p.Catalog, Policy: p.Policy, Log: p.Log,
		Workflows: execution.NewClient(p.Client, cfg.Temporal.TaskQueue),
		Settings: executions.Settings{
			Window: cfg.Approvals.Window, Hold: cfg.Approvals.Hold, Retention: cfg.Approvals.Retention, Sweep: sweepEvery,
		},
	})
	p.Lifecycle.Append(fx.StopHook(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, callsEnd)
		defer cancel()
		return service.Close(ctx)
	}))
	return executions.Metered(service, p.Metrics.Meter("executions"))
}
