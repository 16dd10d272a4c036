package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/telemetry"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/web"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// mcpDrain is how long requests of MCP clients are waited for; those that a person holds up are answered at once.
const mcpDrain = 30 * time.Second

// GatewayStopBudget is how long a gateway takes to stop at most: MCP clients are answered, streams end, requests drain, tools that are
// being called come to their end, telemetry is flushed. Whoever supervises the process must wait longer than that before it kills.
const GatewayStopBudget = mcpDrain + 2*httpDrain + callsEnd + flush

// Gateway is the graph of a gateway: telemetry, keys and store, the Temporal client, the API and its server, in that order; it
// stops in the reverse one.
func Gateway(o Options) fx.Option {
	return fx.Options(fx.StopTimeout(GatewayStopBudget), common(o, roleGateway), gatewayParts())
}

// WorkerAndGateway is both in one process, with one store and one Temporal client.
func WorkerAndGateway(o Options) fx.Option {
	return fx.Options(
		fx.StopTimeout(StopBudget(o.Config)+GatewayStopBudget), common(o, roleWorker), workerParts(), gatewayParts())
}

func gatewayParts() fx.Option {
	return fx.Options(
		fx.Provide(
			provideTokens, provideProvider, provideAuthenticator, provideMetadata,
			provideSessionClient, provideSessions, provideEngine, provideMCP, provideWeb, provideAPI, provideGateway,
		),
		fx.Invoke(func(*GatewayServer) { spaceCollections() }),
	)
}

// APIParams are what the API is made of.
type APIParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Store     *store.Store
	Keys      *keys.Keys
	Tokens    *auth.Tokens
	Auth      *auth.Authenticator
	Metadata  *auth.Metadata
	Engine    executions.Engine
	Catalog   *catalog.Sources
	Policy    policySource
	Workflows *session.Client
	Client    client.Client
	Metrics   *telemetry.Metrics
	Log       *slog.Logger
}

func provideAPI(p APIParams) (*api.API, error) {
	cfg := p.Options.Config
	queue := cfg.Temporal.TaskQueue
	connections := connection.NewClient(p.Client, temporalclient.DataConverter(p.Keys.AEAD()), queue)
	resolver := desired.NewResolver(p.Store, p.Keys.MAC())
	reader := diagnosis.NewReader(diagnosis.Params{
		Store: p.Store, Resolver: resolver, Connections: connections,
		EngineTimeout: cfg.Engine.Timeout, EndpointTimeout: cfg.Endpoint.Timeout, Build: buildinfo.Read(),
	})
	p.Lifecycle.Append(fx.StopHook(reader.Close))
	made, err := api.New(api.Params{
		Store: p.Store, Tokens: p.Tokens, Auth: p.Auth, Metadata: p.Metadata, Connections: connections, Engines: engine.NewClient(p.Client, queue),
		Diagnosis: reader, Resolver: resolver, Reload: api.DisposeInstance, Metrics: p.Metrics.Handler(), Log: p.Log,
		Build: buildinfo.Read(), StoreHealth: api.StoreCheck(p.Store.Ping), StoreWritable: api.StoreCheck(p.Store.Writable),
		TemporalHealth: func(ctx context.Context) error {
			_, err := p.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
			return err
		},
		Settings: api.Settings{
			Open: cfg.Gateway.Auth == config.AuthNone, ReadOnly: cfg.Gateway.ReadOnly, Hosts: cfg.Gateway.Hosts,
			AnyAddress: !config.Loopback(cfg.Gateway.Listen), Origins: cfg.Gateway.Origins, PublicURL: cfg.Gateway.PublicURL,
		},
		GatewayParams: gatewayRoutes(p),
	})
	if err != nil {
		return nil, fmt.Errorf("make API: %w", err)
	}
	p.Lifecycle.Append(fx.StopHook(made.Close))
	return made, nil
}

// gatewayRoutes is what the routes of sessions, executions and approvals need.
func gatewayRoutes(p APIParams) api.GatewayParams {
	return api.GatewayParams{
		Executions: p.Engine, Records: p.Store, Tools: p.Catalog, Sessions: p.Workflows,
		Visible: func(who approval.Identity, tool catalog.Tool) bool {
			return p.Policy(context.Background()).Judge(who.Account, tool).Effect != policy.Deny
		},
	}
}

// GatewayParams are what the gateway's server is made of.
type GatewayParams struct {
	fx.In

	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Options    Options
	API        *api.API
	MCP        *mcpserver.Endpoint
	Web        *web.Web
	Metadata   *auth.Metadata
	Tokens     *auth.Tokens
	Log        *slog.Logger
}

// routes keeps the MCP transport, the pages and what OAuth clients look for apart from the API, which has all other paths. Each
// checks Host and Origin itself.
func routes(p GatewayParams) http.Handler {
	mux := http.NewServeMux()
	for _, path := range mcpserver.Paths() {
		mux.Handle(path, p.MCP.Handler())
		mux.Handle(path+"/{$}", p.MCP.Handler()) // as people type it
	}
	for _, path := range p.Metadata.Routes() {
		mux.Handle(path, p.Metadata)
	}
	pages := p.Web.Handler()
	for _, pattern := range web.Routes() {
		mux.Handle(pattern, pages)
	}
	mux.Handle("/", p.API.Handler())
	return mux
}

// GatewayServer is the gateway's socket.
type GatewayServer struct{ Listener *workerhost.Listener }

// URL is where the gateway is reached from this machine.
func (g *GatewayServer) URL() string { return "http://" + g.Listener.Address() }

func provideGateway(p GatewayParams) *GatewayServer {
	listener := workerhost.NewListener("gateway", p.Options.Config.Gateway.Listen, routes(p), p.Log, end(p.Shutdowner))
	p.Lifecycle.Append(fx.Hook{
		OnStart: func(ctx context.Context) error {
			if err := mayListen(ctx, p); err != nil {
				return err
			}
			return listener.Start(ctx)
		},
		OnStop: func(ctx context.Context) error {
			p.API.Drain()
			p.Web.Drain()
			p.MCP.Drain()
			return drain(listener)(ctx)
		},
	})
	return &GatewayServer{Listener: listener}
}

// errNoToken is told with the next step: a gateway that others can reach and that nobody may use is a mistake, and one that asks
// nobody is refused by the settings.
var errNoToken = errors.New("no API token may be used; make one: holdfast token create --role owner --name NAME")

// mayListen refuses an address that others can reach while there is no token that may be used.
func mayListen(ctx context.Context, p GatewayParams) error {
	cfg := p.Options.Config.Gateway
	if cfg.Auth == config.AuthNone {
		p.Log.WarnContext(ctx, "whoever reaches the gateway is owner", "address", cfg.Listen)
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	live, err := p.Tokens.AnyLive(limited)
	switch {
	case err != nil:
		return fmt.Errorf("start gateway: %w", err)
	case !live && !config.Loopback(cfg.Listen):
		return fmt.Errorf("start gateway on %s: %w, or listen on 127.0.0.1", cfg.Listen, errNoToken)
	case !live:
		p.Log.WarnContext(ctx, "nobody can use the gateway yet", "error", errNoToken)
	}
	return nil
}
