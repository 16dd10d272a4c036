package diagnosis_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestCase20AReadWithoutProbeAsksTheEngineOnly(t *testing.T) {
	t.Parallel()
	r := ready(t)
	before := r.endpoint.Count(simulator.AnyRequest)
	calls := r.engine.AllCalls("")

	d := r.read(diagnosis.Options{})

	require.True(t, d.Usable, d.FirstFailure)
	require.Equal(t, health.PhaseReady, d.Phase)
	require.Equal(t, diagnosis.Listing{Expected: both(), Present: both(), Missing: []string{}}, d.Tools.Listing)
	require.False(t, d.Tools.Direct.Checked)
	require.Nil(t, d.UsableByCurrentModel)
	require.Equal(t, before, r.endpoint.Count(simulator.AnyRequest))
	require.Equal(t, 4, r.engine.AllCalls("")-calls, "version, statuses, tool ids, configuration")
	require.Zero(t, r.ledger.wakes())
	require.Equal(t, "ok", d.Compatibility.OpenCode.Probe)
	require.Equal(t, diagnosis.ExpectedEngineVersion, *d.Compatibility.OpenCode.ActualVersion)
	require.Equal(t, "v9", d.Compatibility.OpenWork.ServerVersion)
	require.Equal(t, diagnosis.Features{
		DynamicMCP: true, DirectoryScoping: true, ToolIDs: true, PluginCanaries: true,
	}, d.Compatibility.SupportedFeatures)
	require.Equal(t, "local", *d.Workspace.Type)
	require.Equal(t, r.key.Directory, *d.Workspace.Path)
}

func TestCase20ToolsMissingAtTheLastVerificationAreMissing(t *testing.T) {
	t.Parallel()
	r := ready(t)
	h, err := r.ledger.Health(t.Context(), r.key)
	require.NoError(t, err)
	h.Tools.Present, h.Tools.Missing = []string{"search_capabilities"}, []string{"execute_capability"}
	r.ledger.tells(h)
	d := r.read(diagnosis.Options{})
	require.Equal(t, diagnosis.Listing{Expected: both(), Present: []string{search}, Missing: []string{execute}}, d.Tools.Listing)
}

func TestCase22AnEngineThatRefusesItsStatuses(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		code      health.Code
		retryable bool
		phase     health.Phase
		shown     string
	}{
		500: {health.CodeEngineUnreachable, true, health.PhaseEngineUnreachable, "unreachable"},
		404: {health.CodeSyncFailed, false, health.PhaseRegistrationFailed, "unknown"},
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerStatus(status))
			d := r.read(diagnosis.Options{Probe: true})
			requireFailure(t, d, want.code, health.StageEngineDelivery, want.phase)
			require.Equal(t, want.retryable, d.FirstFailure.Retryable)
			require.Equal(t, want.shown, d.Engine.Status)
			require.False(t, d.EngineInspection.Checked)
			require.Equal(t, both(), d.Tools.Missing)
			require.Len(t, d.PluginCanaries.Missing, 2)
			require.Nil(t, d.Compatibility.ExperimentalToolIDs.IncludesMCPTools)
			require.Equal(t, 1, r.ledger.wakes(), "the workflow believes in ready")
		})
	}
}

func TestCase23ASlowEngineIsUnreachableInBoundedTime(t *testing.T) {
	t.Parallel()
	const limit = 25 * time.Millisecond
	r := ready(t, func(p *diagnosis.Params) { p.EngineTimeout = limit })
	r.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{Delay: 10 * time.Second})
	started := time.Now()
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeEngineUnreachable, health.StageEngineDelivery, health.PhaseEngineUnreachable)
	require.Less(t, time.Since(started), 5*time.Second)
}

func TestCase24AnEngineThatDoesNotTellItsVersionIsInspectedAllTheSame(t *testing.T) {
	t.Parallel()
	for claim, fault := range map[string]simulator.Fault{
		"500": simulator.AnswerStatus(500), "hangs": {Hang: simulator.HangHeaders},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := ready(t, func(p *diagnosis.Params) { p.EngineTimeout = time.Second })
			r.engine.Inject(simulator.RouteHealth, simulator.Always, fault)
			d := r.read(diagnosis.Options{})
			require.Equal(t, "unavailable", d.Compatibility.OpenCode.Probe)
			require.NotEmpty(t, d.Compatibility.OpenCode.Error)
			require.Nil(t, d.Compatibility.OpenCode.ActualVersion)
			require.True(t, d.EngineInspection.Checked)
			require.Equal(t, "connected", d.Engine.Status)
		})
	}
}

func TestCase25AnAbsentEntryAndAnAbsentConfigAreToldApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.verified()
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeCloudMissing, health.StageEngineDelivery, health.PhaseEngineMissing)
	require.Equal(t, "missing", d.Engine.Status)
	require.False(t, *d.EngineInspection.CloudPresent)
	require.Equal(t, 1, r.ledger.wakes())

	_, err := r.store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	calls := r.engine.AllCalls("")
	d = r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeCloudMissing, health.StageDesiredConfig, health.PhaseMissingDesired)
	require.Equal(t, "not_checked", d.Engine.Status)
	require.False(t, d.Desired.Present)
	require.Nil(t, d.Desired.Revision)
	require.Equal(t, delivery.NotDesired, d.Delivery.State)
	require.Nil(t, d.Delivery.UpdatedAt)
	require.Equal(t, calls, r.engine.AllCalls(""))
}

func TestCase26EveryOtherStatusIsAFailure(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]struct {
		code  health.Code
		stage health.Stage
		phase health.Phase
		shown string
	}{
		"needs_auth":                {health.CodeNeedsAuth, health.StageTransportAuth, health.PhaseEngineNeedsAuth, "needs_auth"},
		"disabled":                  {health.CodeDisabled, health.StageEngineDelivery, health.PhaseEngineDisabled, "disabled"},
		"needs_client_registration": {health.CodeSyncFailed, health.StageEngineDelivery, health.PhaseRegistrationFailed, "needs_client_registration"},
		"pending":                   {health.CodeSyncFailed, health.StageEngineDelivery, health.PhaseRegistrationFailed, "unknown"},
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.engine.Inject(simulator.RouteStatus, simulator.Always,
				simulator.Fault{Status: 200, Body: `{"` + cloud + `":{"status":"` + status + `"}}`})
			d := r.read(diagnosis.Options{Probe: true, Provider: "p", Model: "m"})
			requireFailure(t, d, want.code, want.stage, want.phase)
			require.Equal(t, want.shown, d.Engine.Status)
			require.True(t, d.Tools.Direct.Checked, "a probe that is asked for is sent all the same")
			require.False(t, d.Tools.ProviderProjection.Checked)
		})
	}
}

func TestCase27ASiblingThatFailedIsListedAndHarmless(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{
		Status: 200,
		Body:   `{"z":{"status":"failed","error":"fetch failed with Bearer ` + bearer + `"},"` + cloud + `":{"status":"connected"}}`,
	})
	d := r.read(diagnosis.Options{})
	require.True(t, d.Usable)
	require.Equal(t, 2, *d.EngineInspection.ServerCount)
	require.Equal(t, []diagnosis.Server{
		{Name: cloud, Status: "connected"}, {Name: "z", Status: "failed", Error: "fetch failed with [REDACTED]"},
	}, d.EngineInspection.Servers)
}

func TestCase28WithoutToolIDsNothingMoreIsAsked(t *testing.T) {
	t.Parallel()
	for claim, tc := range map[string]struct {
		fault     simulator.Fault
		code      health.Code
		retryable bool
		phase     health.Phase
	}{
		"404":    {simulator.AnswerStatus(404), health.CodeToolIDsUnsupported, false, health.PhaseToolIDsUnsupported},
		"405":    {simulator.AnswerStatus(405), health.CodeToolIDsUnsupported, false, health.PhaseToolIDsUnsupported},
		"a page": {simulator.AnswerHTML(200), health.CodeToolIDsUnsupported, false, health.PhaseToolIDsUnsupported},
		"500":    {simulator.AnswerStatus(500), health.CodeToolIDsUnavailable, true, health.PhaseEngineFailed},
		"400":    {simulator.AnswerStatus(400), health.CodeToolIDsUnavailable, false, health.PhaseEngineFailed},
		"reset":  {simulator.Fault{Reset: true}, health.CodeEngineUnreachable, true, health.PhaseEngineUnreachable},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			asked := r.endpoint.Count(simulator.AnyRequest)
			r.engine.Inject(simulator.RouteToolIDs, simulator.Always, tc.fault)
			d := r.read(diagnosis.Options{Probe: true, Provider: simulator.ProviderID, Model: simulator.ToolModel})
			requireFailure(t, d, tc.code, health.StageToolRegistration, tc.phase)
			require.Equal(t, tc.retryable, d.FirstFailure.Retryable)
			require.Equal(t, asked, r.endpoint.Count(simulator.AnyRequest))
			require.Contains(t, d.Tools.Direct.Error, "not asked")
			require.Zero(t, r.engine.Calls(simulator.RouteProviderTools, ""))
			require.False(t, d.Tools.ProviderProjection.Checked)
			require.False(t, d.Compatibility.SupportedFeatures.ToolIDs)
			require.Equal(t, both(), d.Tools.Missing)
		})
	}
}

func TestCase30AnInvalidConfigStopsBeforeTheEngine(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.put(func(row *store.Desired) { row.Config.Headers = nil })
	calls := r.engine.AllCalls("")
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeInvalidToken, health.StageDesiredConfig, health.PhaseEngineNeedsAuth)
	require.Equal(t, calls, r.engine.AllCalls(""))
	require.False(t, d.Tools.Direct.Checked)
	require.Contains(t, d.Tools.Direct.Error, "not asked")
	require.True(t, d.Desired.Present)
	require.Equal(t, "not_checked", d.Engine.Status)
	require.Equal(t, "not_checked", d.Compatibility.OpenCode.Probe)
}

func TestCase45WithoutADirectoryNothingIsAsked(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.key.Directory, r.ledger.health = "", nil
	r.put(nil)
	calls := r.engine.AllCalls("")
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeDirectoryAmbiguous, health.StagePrerequisites, health.PhaseWorkspaceAmbiguous)
	require.Nil(t, d.Delivery.AppliedRevision)
	require.Nil(t, d.Workspace.Directory)
	require.False(t, d.Compatibility.SupportedFeatures.DirectoryScoping)
	require.Equal(t, calls, r.engine.AllCalls(""))
}

func TestAnEngineOfNoUseIsUnconfigured(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.putEngine("not a url")
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeEngineUnconfigured, health.StagePrerequisites, health.PhaseEngineUnconfigured)
}

func TestAReadEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.reader.Read(ctx, r.key, diagnosis.Options{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestHalfAModelIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, o := range []diagnosis.Options{{Provider: "p"}, {Model: "m"}} {
		_, err := r.reader.Read(t.Context(), r.key, o)
		require.ErrorIs(t, err, diagnosis.ErrHalfAModel)
	}
}
