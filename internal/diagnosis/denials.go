package diagnosis

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// judgeDenies tells which tools the engine's configuration keeps from models. Where a rule comes from is asked only when
// there is one.
func (f *facts) judgeDenies(ctx context.Context) {
	if f.live.configurationErr != nil {
		f.unjudged(denies.SourceUnknown, f.live.configurationErr)
		return
	}
	tools := f.expectedIDs()
	if len(tools) == 0 {
		tools = engineIDs(f.key.Name, f.ledger.listed(f.want.Revision))
	}
	effective := configOf(f.live.configuration)
	found, err := denies.Of(tools, effective, nil)
	if err != nil {
		f.unjudged(denies.SourceUnknown, err)
		return
	}
	if len(found) > 0 {
		found = f.withSources(ctx, tools, effective, found)
	}
	f.denials = found
}

// withSources keeps the denials where their sources cannot be told.
func (f *facts) withSources(
	ctx context.Context, tools []string, effective denies.Config, found []denies.Denial,
) []denies.Denial {
	global, err := f.engine.GlobalConfiguration(ctx)
	if err != nil {
		f.unjudged(denies.SourceGlobal, err)
		return found
	}
	alone := configOf(global)
	better, err := denies.Of(tools, effective, &alone)
	if err != nil {
		f.unjudged(denies.SourceGlobal, err)
		return found
	}
	return better
}

func (f *facts) unjudged(source string, err error) {
	f.unknown = append(f.unknown, denies.Unknown{Source: source, Reason: err.Error()})
}

func configOf(c engineapi.Configuration) denies.Config {
	agents := make(map[string]denies.Agent, len(c.Agents))
	for name, agent := range c.Agents {
		agents[name] = denies.Agent{Permission: agent.Permission, Tools: agent.Tools}
	}
	return denies.Config{Permission: c.Permission, Tools: c.Tools, Agents: agents, DefaultAgent: c.DefaultAgent}
}
