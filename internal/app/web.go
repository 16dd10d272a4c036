package app

import (
	"fmt"
	"log/slog"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/web"
)

// WebParams are what the pages are made of.
type WebParams struct {
	fx.In

	Lifecycle fx.Lifecycle
	Options   Options
	Store     *store.Store
	Auth      *auth.Authenticator
	Engine    executions.Engine
	Catalog   *catalog.Sources
	Log       *slog.Logger
}

func provideWeb(p WebParams) (*web.Web, error) {
	made, err := web.New(web.Params{
		Engine: p.Engine, Store: p.Store, Tools: p.Catalog, Auth: p.Auth, Log: p.Log,
		Settings: web.Settings{Names: names(p.Options.Config), ReadOnly: p.Options.Config.Gateway.ReadOnly},
	})
	if err != nil {
		return nil, fmt.Errorf("make pages: %w", err)
	}
	p.Lifecycle.Append(fx.StopHook(made.Close))
	return made, nil
}
