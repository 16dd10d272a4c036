package app

import (
	"context"

	"github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// noSources is where there are no sources: no call reaches a tool.
type noSources struct{}

// Call implements [tool.Upstream].
func (noSources) Call(_ context.Context, call catalog.CallRequest) (catalog.CallResult, error) {
	return catalog.CallResult{}, &catalog.CallError{Address: call.Address, Code: tool.CodeNoTool, Cause: catalog.ErrNoTool}
}

func provideUpstream() tool.Upstream { return noSources{} }

func newToolActivities(p ActivityParams) *tool.Activities {
	cfg := p.Options.Config
	return tool.NewActivities(tool.Params{
		Store: p.Store, Upstream: p.Upstream, Log: p.Log, Retention: cfg.Approvals.Retention,
		Asker: workerhost.NewAsker(execution.NewClient(p.Client, cfg.Temporal.TaskQueue)),
	})
}

func newSessionActivities(p ActivityParams) *session.Activities {
	return session.NewActivities(p.Store, p.Options.Config.Sessions.Retention, p.Log)
}
