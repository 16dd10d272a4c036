package diagnosis

import (
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// limitation goes with an answer that is deduced.
const limitation = "The engine lists no MCP tools of a model; that the model can call tools is all that it tells."

// projection is what the engine says of one model.
type projection struct {
	tools    []string
	toolsErr error
	model    engineapi.Model
	modelErr error
}

func readProjection(ctx context.Context, f *facts) *projection {
	var (
		p    projection
		both sync.WaitGroup
		o    = f.options
	)
	both.Go(func() { p.tools, p.toolsErr = f.engine.ProviderTools(ctx, f.want.Directory, o.Provider, o.Model) })
	both.Go(func() { p.model, p.modelErr = f.engine.Model(ctx, f.want.Directory, o.Provider, o.Model) })
	both.Wait()
	return &p
}

// includes reports whether a list has all of the expected; of nothing expected nothing is known.
func includes(listed, expected []string) bool {
	return len(expected) > 0 && len(absentFrom(listed, expected)) == 0
}

func absentFrom(listed, expected []string) []string {
	missing := []string{}
	for _, id := range expected {
		if !slices.Contains(listed, id) {
			missing = append(missing, id)
		}
	}
	return missing
}

// failure is why the model cannot use the tools.
func (p *projection) failure(o Options, expected []string) *health.Failure {
	if p == nil || (p.toolsErr == nil && includes(p.tools, expected)) {
		return nil
	}
	var failure health.Failure
	switch status, answered := answeredWith(p.modelErr); {
	case p.modelErr == nil && p.model.ToolCall:
		return nil
	case p.modelErr == nil:
		failure = health.ProjectionMissing(o.Provider, o.Model)
	case answered:
		failure = health.ProjectionUnavailable(status)
	case httpclient.KindOf(p.modelErr) == httpclient.KindMalformed:
		failure = health.ProjectionUnavailable(http.StatusOK)
	default:
		failure = health.EngineUnreachable(health.StageProviderProjection, p.modelErr.Error())
	}
	return &failure
}

func (f *facts) projectionView() Projection {
	view := Projection{Present: []string{}, Missing: []string{}}
	p := f.live.projection
	if p == nil {
		return view
	}
	view.Checked, view.Provider, view.Model = true, f.options.Provider, f.options.Model
	view.Missing = absentFrom(p.tools, f.expectedIDs())
	view.Present = absentFrom(view.Missing, f.expectedIDs())
	if p.toolsErr == nil && includes(p.tools, f.expectedIDs()) {
		view.Source = SourceExperimentalTool
		return view
	}
	view.Source, view.Limitation = SourceProviderCapability, limitation
	if p.toolsErr != nil {
		view.Error = p.toolsErr.Error()
	}
	if p.modelErr != nil {
		view.Error = p.modelErr.Error()
		return view
	}
	exists := p.model.Exists
	view.ModelExists = &exists
	if exists {
		calling := p.model.ToolCall
		view.ToolCalling = &calling
	}
	return view
}

// usableByModel is null where no model was asked about. What stands in the way of everybody stands in the model's way.
func (f *facts) usableByModel(p Projection, first *health.Failure) *bool {
	if !p.Checked {
		return nil
	}
	usable := p.Source == SourceExperimentalTool || (p.ModelExists != nil && *p.ModelExists && p.ToolCalling != nil && *p.ToolCalling)
	if first != nil && first.Stage != health.StagePluginLoad {
		usable = false
	}
	return &usable
}
