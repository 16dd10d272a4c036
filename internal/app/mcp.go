package app

import (
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/residency"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

func provideSessionClient(o Options, c client.Client) *session.Client {
	return session.NewClient(c, o.Config.Temporal.TaskQueue)
}

func provideSessions(o Options, s *store.Store, c *session.Client, log *slog.Logger) *mcpserver.DurableSessions {
	cfg := o.Config.Sessions
	return mcpserver.NewDurableSessions(s, c, mcpserver.Spans{Start: cfg.Start, Unused: cfg.Retention, Absolute: cfg.AbsoluteLimit}, log)
}

// MCPParams are what the MCP endpoint is made of.
type MCPParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Store     *store.Store
	Keys      *keys.Keys
	Auth      *auth.Authenticator
	Metadata  *auth.Metadata
	Sessions  *mcpserver.DurableSessions
	Workflows *session.Client
	Engine    executions.Engine
	Catalog   *catalog.Sources
	Policy    policySource
	Log       *slog.Logger
}

func provideMCP(p MCPParams) (*mcpserver.Endpoint, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "gateway"
	}
	cfg := p.Options.Config
	made, err := mcpserver.New(mcpserver.Params{
		Host: gatehost.New(gatehost.Params{
			Engine: p.Engine, Catalog: p.Catalog, Policy: p.Policy, AEAD: p.Keys.AEAD(), Log: p.Log,
			ReadOnly: p.Options.Config.Gateway.ReadOnly,
		}),
		Authenticator: p.Auth, Challenge: p.Metadata.Challenge, Sessions: p.Sessions, Store: p.Store, Log: p.Log, ReplicaID: host,
		Leases: mcpserver.LeasesOf(p.Workflows.Leases),
		Settings: mcpserver.Settings{
			Limits: residency.Limits{Idle: cfg.Sessions.Idle, Paused: cfg.Sessions.PausedIdle, Running: cfg.Sessions.RunningIdle},
			Names:  names(cfg),
			Timing: mcpserver.Timing{Drain: mcpDrain},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make MCP endpoint: %w", err)
	}
	p.Lifecycle.Append(fx.StopHook(made.Close))
	return made, nil
}
