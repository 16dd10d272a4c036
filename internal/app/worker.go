package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	fleetactivity "github.com/holdfast-mcp/holdfast/activities/fleet"
	"github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/fleet"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/telemetry"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	engineworkflow "github.com/holdfast-mcp/holdfast/workflows/engine"
)

// StopBudget is how long a worker takes to stop at most: HTTP requests drain, running activities end, telemetry is
// flushed. Whoever supervises the process must wait longer than that before it kills.
func StopBudget(cfg config.Config) time.Duration { return 2*httpDrain + cfg.Worker.StopTimeout + flush }

// Worker is the graph of a worker: telemetry, keys and store, the Temporal client, the activities, the worker, and the
// servers beside it, in that order; it stops in the reverse one.
func Worker(o Options) fx.Option {
	return fx.Options(fx.StopTimeout(StopBudget(o.Config)), common(o, roleWorker), workerParts())
}

func workerParts() fx.Option {
	return fx.Options(
		fx.Provide(provideActivities, provideHost, provideHealth, provideCodec),
		fx.Invoke(func(Servers, *CodecServer) {}),
	)
}

// ActivityParams are what the activities are made of.
type ActivityParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Store     *store.Store
	Keys      *keys.Keys
	Client    client.Client
	Catalog   *catalog.Sources
	Policy    policySource
	Log       *slog.Logger
}

// Activities are all activities of a worker.
type Activities struct {
	Desired  *desired.Activities
	Endpoint *endpoint.Activities
	Engine   *engine.Activities
	Mint     *endpoint.MintActivities
	Fleet    *fleetactivity.Activities
	Tool     *tool.Activities
	Session  *session.Activities
}

func provideActivities(p ActivityParams) Activities {
	cfg := p.Options.Config
	resolver := desired.NewResolver(p.Store, p.Keys.MAC())
	prober := endpoint.NewProber(p.Store, cfg.Endpoint.Timeout)
	sources := newSources(p.Lifecycle)
	engines := engine.NewActivities(engine.Params{
		Store: p.Store, Resolver: resolver, Prober: prober,
		Signals: workerhost.NewSignals(p.Client, cfg.Temporal.TaskQueue), Log: p.Log, Moved: tokenMoved(p, sources),
		Settings: engine.Settings{
			PollInterval: cfg.Inspect.PollInterval, ProbeInterval: cfg.Inspect.ProbeInterval,
			Jitter: cfg.Inspect.Jitter, EngineTimeout: cfg.Engine.Timeout,
		},
	})
	p.Lifecycle.Append(fx.StopHook(engines.Close))
	return Activities{
		Desired: desired.NewActivities(resolver), Endpoint: endpoint.NewActivities(resolver, prober), Engine: engines,
		Mint:  newMintActivities(p, resolver, sources),
		Fleet: fleetactivity.NewActivities(reconciler(p), cfg.Fleet.Interval),
		Tool:  newToolActivities(p), Session: newSessionActivities(p),
	}
}

func reconciler(p ActivityParams) *fleet.Reconciler {
	queue := p.Options.Config.Temporal.TaskQueue
	return fleet.NewReconciler(fleet.Params{
		Store: p.Store, Engines: engineworkflow.NewClient(p.Client, queue), TaskQueue: queue, Log: p.Log,
		Connections: connection.NewClient(p.Client, temporalclient.DataConverter(p.Keys.AEAD()), queue),
		Prune:       pruner(p),
	})
}

// pruner clears away what has passed its retention, also while no session ends.
func pruner(p ActivityParams) func(context.Context) error {
	sessions, approvals := p.Options.Config.Sessions.Retention, p.Options.Config.Approvals.Retention
	return func(ctx context.Context) error {
		now := time.Now()
		_, errStreams := p.Store.PruneStreams(ctx, now.Add(-sessions))
		_, errExecutions := p.Store.PruneExecutions(ctx, now)
		_, errDirects := p.Store.PruneDirects(ctx, now.Add(-approvals))
		return errors.Join(errStreams, errExecutions, errDirects)
	}
}

// HostParams are what the worker itself is made of.
type HostParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Options    Options
	Client     client.Client
	Activities Activities
	Log        *slog.Logger
}

func provideHost(p HostParams) *workerhost.Host {
	cfg := p.Options.Config
	host := workerhost.New(p.Client, workerhost.Options{
		TaskQueue: cfg.Temporal.TaskQueue, MaxActivities: cfg.Worker.MaxActivities, MaxWorkflows: cfg.Worker.MaxWorkflows, StopTimeout: cfg.Worker.StopTimeout,
		OnFatal: end(p.Shutdowner),
	}, p.Log, p.Activities.Desired, p.Activities.Endpoint, p.Activities.Engine, p.Activities.Mint, p.Activities.Fleet, p.Activities.Tool,
		p.Activities.Session)
	p.Lifecycle.Append(fx.StartStopHook(host.Start, host.Stop))
	return host
}

// end brings the process down with exit code 1.
func end(s fx.Shutdowner) func(error) {
	return func(error) { _ = s.Shutdown(fx.ExitCode(1)) }
}

// ServerParams are what the servers beside the worker are made of. They come after the worker, so that readiness is gone
// before the worker stops.
type ServerParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Options    Options
	Host       *workerhost.Host
	Store      *store.Store
	Keys       *keys.Keys
	Metrics    *telemetry.Metrics
	Log        *slog.Logger
}

// Servers is the health server.
type Servers struct{ Health *workerhost.Listener }

func provideHealth(p ServerParams) Servers {
	handler := workerhost.HealthHandler(p.Metrics.Handler(),
		workerhost.Check{Name: "temporal", Check: p.Host.Ready}, workerhost.Check{Name: "store", Check: p.Store.Ping})
	listener := workerhost.NewListener("health endpoint", p.Options.Config.Worker.HealthListen, handler, p.Log, end(p.Shutdowner))
	p.Lifecycle.Append(fx.StartStopHook(listener.Start, drain(listener)))
	return Servers{Health: listener}
}

// CodecServer unseals payloads for the Temporal UI and CLI.
type CodecServer struct {
	Listener *workerhost.Listener
	secret   string
}

// URL is the endpoint's address with its path secret. Whoever has it can read payloads.
func (c *CodecServer) URL() string { return "http://" + c.Listener.Address() + "/" + c.secret }

func provideCodec(p ServerParams) (*CodecServer, error) {
	cfg := p.Options.Config
	secret, err := CodecSecret(cfg)
	if err != nil {
		return nil, err
	}
	handler, err := temporalclient.CodecHandler(temporalclient.CodecOptions{
		Codec: temporalclient.NewCodec(p.Keys.AEAD()), Origins: cfg.Codec.Origins, PathSecret: secret,
	})
	if err != nil {
		return nil, fmt.Errorf("make codec endpoint: %w", err)
	}
	listener := workerhost.NewListener("codec endpoint", cfg.Codec.Listen, handler, p.Log, end(p.Shutdowner))
	p.Lifecycle.Append(fx.StartStopHook(listener.Start, drain(listener)))
	return &CodecServer{Listener: listener, secret: secret}, nil
}

func drain(l *workerhost.Listener) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, httpDrain)
		defer cancel()
		return l.Stop(ctx)
	}
}
