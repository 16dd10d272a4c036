package diagnosis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/denies"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

func TestCase46DeniedToolsAreAFailureAlthoughTheEngineIsConnected(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.SetConfiguration(r.key.Directory, `{"tools":{"openwork-cloud_*":false}}`)
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeToolsDenied, health.StagePrerequisites, health.PhaseDeniedByTools)
	require.Equal(t, "connected", d.Engine.Status)
	require.Equal(t, []denies.Denial{
		{Source: "config.project", Style: "tools", Pattern: "openwork-cloud_*", Matched: search},
		{Source: "config.project", Style: "tools", Pattern: "openwork-cloud_*", Matched: execute},
	}, d.ToolDenies)
	require.Empty(t, d.ToolDeniesUnknown)
	require.Len(t, d.FirstFailure.Details["toolDenies"], 2)
	require.True(t, d.Tools.Direct.Checked, "what else there is to know is told as well")
}

func TestCase51AProjectAllowsPartOfWhatTheGlobalConfigurationDenies(t *testing.T) {
	t.Parallel()
	r := ready(t)
	require.NoError(t, r.engine.SetGlobalConfiguration(`{"tools":{"openwork-cloud_*":false}}`))
	r.engine.SetConfiguration(r.key.Directory, `{"tools":{"`+search+`":true}}`)
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeToolsDenied, health.StagePrerequisites, health.PhaseDeniedByTools)
	require.Equal(t, []denies.Denial{
		{Source: "config.global", Style: "tools", Pattern: "openwork-cloud_*", Matched: execute},
	}, d.ToolDenies)

	r.engine.SetConfiguration(r.key.Directory, `{"permission":{"*":"allow"}}`)
	require.True(t, r.read(diagnosis.Options{}).Usable)
}

func TestCase51ARuleForAnotherPermissionDeniesNothing(t *testing.T) {
	t.Parallel()
	r := ready(t)
	for _, text := range []string{
		`{"permission":{"bash":{"*":"deny"}}}`, `{"tools":{"!bash":false}}`, `{"permission":{"*":"deny","openwork-cloud_*":"allow"}}`,
	} {
		r.engine.SetConfiguration(r.key.Directory, text)
		d := r.read(diagnosis.Options{})
		require.True(t, d.Usable, text)
		require.Equal(t, []denies.Denial{}, d.ToolDenies, text)
	}
}

// The engine refuses every question about a directory whose file it cannot use.
func TestCase51AFileThatTheEngineCannotUseIsUnknownWithTheReason(t *testing.T) {
	t.Parallel()
	r := ready(t)
	for text, reason := range map[string]string{
		`{"tools":{"deny":["openwork-cloud_*"]}}`: "ConfigInvalidError at tools.deny", `{"tools":`: "ConfigJsonError",
	} {
		r.engine.SetConfiguration(r.key.Directory, text)
		d := r.read(diagnosis.Options{})
		require.False(t, d.Usable)
		require.Empty(t, d.ToolDenies)
		require.Len(t, d.ToolDeniesUnknown, 1)
		require.Contains(t, d.ToolDeniesUnknown[0].Reason, reason)
		require.Contains(t, d.ToolDeniesUnknown[0].Reason, r.key.Directory+"/opencode.json")
	}
}

func TestAConfigurationThatIsNotToldIsUnknownAndNoFailure(t *testing.T) {
	t.Parallel()
	r := ready(t)
	for claim, fault := range map[string]simulator.Fault{
		"500": simulator.AnswerStatus(500), "another form": {Status: 200, Body: `{"permission":[]}`},
	} {
		r.engine.ClearFaults()
		r.engine.Inject(simulator.RouteConfig, simulator.Always, fault)
		d := r.read(diagnosis.Options{})
		require.True(t, d.Usable, claim)
		require.Len(t, d.ToolDeniesUnknown, 1, claim)
		require.NotEmpty(t, d.ToolDeniesUnknown[0].Reason, claim)
	}
}

func TestADenialOfUnknownOriginIsStillADenial(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.SetConfiguration(r.key.Directory, `{"permission":"deny"}`)
	r.engine.Inject(simulator.RouteGlobalConfig, simulator.Always, simulator.AnswerStatus(500))
	d := r.read(diagnosis.Options{})
	require.Len(t, d.ToolDenies, 2)
	require.Equal(t, "config", d.ToolDenies[0].Source)
	require.Len(t, d.ToolDeniesUnknown, 1)
	require.Equal(t, "config.global", d.ToolDeniesUnknown[0].Source)
}
