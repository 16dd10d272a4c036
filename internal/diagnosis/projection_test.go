package diagnosis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

func asking(model string) diagnosis.Options {
	return diagnosis.Options{Provider: simulator.ProviderID, Model: model}
}

func TestCase38AnEngineThatListsTheToolsOfAModelIsBelieved(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.Inject(simulator.RouteProviderTools, simulator.Always, simulator.Fault{
		Status: 200, Body: `[{"id":"bash"},{"id":"` + search + `"},{"id":"` + execute + `"}]`,
	})
	d := r.read(asking("whatever"))
	require.True(t, d.Usable, d.FirstFailure)
	require.True(t, *d.UsableByCurrentModel)
	require.Equal(t, "experimental_tool", d.Tools.ProviderProjection.Source)
	require.Equal(t, both(), d.Tools.ProviderProjection.Present)
	require.Empty(t, d.Tools.ProviderProjection.Missing)
	require.True(t, *d.Compatibility.ExperimentalProviderTools.IncludesMCPTools)
}

func TestCase39AModelThatCanCallToolsIsEnough(t *testing.T) {
	t.Parallel()
	r := ready(t)
	d := r.read(asking(simulator.ToolModel))
	require.True(t, d.Usable, d.FirstFailure)
	require.Equal(t, health.PhaseReady, d.Phase)
	require.True(t, *d.UsableByCurrentModel)
	p := d.Tools.ProviderProjection
	require.Equal(t, "provider_capability", p.Source)
	require.NotEmpty(t, p.Limitation)
	require.True(t, *p.ModelExists)
	require.True(t, *p.ToolCalling)
	require.Equal(t, both(), p.Missing)
	require.True(t, d.Compatibility.SupportedFeatures.ProviderToolProjection)
	require.Zero(t, r.engine.Calls(simulator.RouteProvider, ""), "the list of all that is known anywhere is megabytes")
}

func TestCase40AModelThatCannotCallToolsOrIsNotThere(t *testing.T) {
	t.Parallel()
	r := ready(t)
	for model, exists := range map[string]bool{simulator.NoToolModel: true, "unheard-of": false} {
		d := r.read(asking(model))
		requireFailure(t, d, health.CodeProjectionMissing, health.StageProviderProjection, health.PhaseProjectionMissing)
		require.False(t, d.FirstFailure.Retryable)
		require.False(t, *d.UsableByCurrentModel)
		require.Equal(t, exists, *d.Tools.ProviderProjection.ModelExists)
		if exists {
			require.False(t, *d.Tools.ProviderProjection.ToolCalling)
		} else {
			require.Nil(t, d.Tools.ProviderProjection.ToolCalling)
		}
		require.True(t, d.Compatibility.SupportedFeatures.ProviderToolProjection)
	}
}

func TestAnEngineThatDoesNotTellOfItsModels(t *testing.T) {
	t.Parallel()
	for claim, tc := range map[string]struct {
		fault     simulator.Fault
		code      health.Code
		retryable bool
	}{
		"500":    {simulator.AnswerStatus(500), health.CodeProjectionMissing, true},
		"404":    {simulator.AnswerStatus(404), health.CodeProjectionMissing, false},
		"a page": {simulator.AnswerHTML(200), health.CodeProjectionMissing, false},
		"reset":  {simulator.Fault{Reset: true}, health.CodeEngineUnreachable, true},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.engine.Inject(simulator.RouteModels, simulator.Always, tc.fault)
			d := r.read(asking(simulator.ToolModel))
			require.Equal(t, tc.code, d.FirstFailure.Code)
			require.Equal(t, health.StageProviderProjection, d.FirstFailure.Stage)
			require.Equal(t, tc.retryable, d.FirstFailure.Retryable)
			require.False(t, d.Compatibility.SupportedFeatures.ProviderToolProjection)
			require.Nil(t, d.Tools.ProviderProjection.ModelExists)
			require.NotEmpty(t, d.Tools.ProviderProjection.Error)
		})
	}
}

func TestAFailedListOfToolsIsToldBesideTheCapability(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.Inject(simulator.RouteProviderTools, simulator.Always, simulator.AnswerStatus(500))
	d := r.read(asking(simulator.ToolModel))
	require.True(t, *d.UsableByCurrentModel)
	require.Contains(t, d.Tools.ProviderProjection.Error, "500")
	require.Nil(t, d.Compatibility.ExperimentalProviderTools.IncludesMCPTools)
}

func TestCase41APluginThatIsNotLoadedIsNamed(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.SetPluginTools("openwork_docs_search")
	d := r.read(asking(simulator.ToolModel))
	requireFailure(t, d, health.CodePluginMissing, health.StagePluginLoad, health.PhasePluginMissing)
	require.True(t, d.FirstFailure.Retryable)
	require.Equal(t, []string{"openwork_docs_search"}, d.PluginCanaries.Present)
	require.Equal(t, []string{"openwork_query"}, d.PluginCanaries.Missing)
	require.True(t, *d.UsableByCurrentModel, "the tools themselves are there")
}

func TestWhatFailsForEverybodyFailsForTheModel(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.failed(health.EndpointUnreachable("refused", nil))
	d := r.read(asking(simulator.ToolModel))
	require.False(t, d.Usable)
	require.False(t, *d.UsableByCurrentModel)
}
