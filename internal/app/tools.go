package app

import (
	"context"
	"fmt"
	"log/slog"

	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/policyfile"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// policySource tells which rules apply now.
type policySource func(ctx context.Context) executions.Policy

func provideRules(o Options, log *slog.Logger) (*policyfile.File, error) {
	rules, err := policyfile.Open(policyfile.Params{
		Path: o.Config.Policy.File, Log: log, Defaults: policy.Defaults{Window: o.Config.Approvals.Window},
	})
	if err != nil {
		return nil, fmt.Errorf("%w; correct %s", err, o.Config.Policy.File)
	}
	return rules, nil
}

func providePolicy(rules *policyfile.File) policySource {
	return func(context.Context) executions.Policy {
		now := rules.Current()
		return executions.Policy{Rules: now.Rules, Defaults: now.Defaults, Version: now.Version}
	}
}

// provideCatalog is one for a process, also where it is worker and gateway.
func provideCatalog(lc fx.Lifecycle, o Options, rules *policyfile.File, log *slog.Logger) (*catalog.Sources, error) {
	sources, err := catalog.New(catalog.Params{File: o.Config.Sources.File, Overrides: rules.Overrides, Log: log})
	if err != nil {
		return nil, err
	}
	lc.Append(fx.StopHook(sources.Close))
	return sources, nil
}

func newToolActivities(p ActivityParams) *tool.Activities {
	cfg := p.Options.Config
	return tool.NewActivities(tool.Params{
		Store: p.Store, Upstream: p.Catalog, Log: p.Log, Retention: cfg.Approvals.Retention,
		Asker: workerhost.NewAsker(execution.NewClient(p.Client, cfg.Temporal.TaskQueue)),
		Denied: func(ctx context.Context, account, address string) (string, bool) {
			verdict := p.Policy(ctx).Judge(account, catalog.Tool{Address: address})
			return verdict.Reason, verdict.Effect == policy.Deny
		},
	})
}

func newSessionActivities(p ActivityParams) *session.Activities {
	return session.NewActivities(p.Store, p.Options.Config.Sessions.Retention, p.Log)
}
