package diagnosis_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func steps(d diagnosis.Document) []string {
	var names []string
	for _, s := range d.Tools.Direct.Trace.Steps {
		names = append(names, s.Step)
	}
	return names
}

func TestCase31AProbeShowsEachStepAndLeavesNoSession(t *testing.T) {
	t.Parallel()
	r := ready(t)
	sessions := r.endpoint.Sessions()
	d := r.read(diagnosis.Options{Probe: true})
	require.True(t, d.Usable)
	require.True(t, d.Tools.Direct.Checked)
	require.Equal(t, "mcp_tools_list", d.Tools.Direct.Source)
	require.Equal(t, []string{"initialize", "initialized_notice", "tools_list"}, steps(d))
	for _, step := range d.Tools.Direct.Trace.Steps {
		require.True(t, step.OK, step.Step)
	}
	require.NotNil(t, d.Tools.Direct.Trace.Server)
	require.NotEmpty(t, d.Tools.Direct.Trace.ProtocolVersion)
	require.Equal(t, []string{"search_capabilities", "execute_capability"}, d.Tools.Direct.Present)
	require.Equal(t, both(), d.Tools.Present)
	require.Equal(t, sessions, r.endpoint.Sessions())
	require.Equal(t, 1, r.endpoint.Count(simulator.DeleteMethod))
	require.Zero(t, r.ledger.wakes())
}

func TestCase32ARefusedProbeNamesTheRefusal(t *testing.T) {
	t.Parallel()
	for status, code := range map[int]health.Code{401: health.CodeInvalidToken, 403: health.CodeWrongResource} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.endpoint.Inject("initialize", simulator.Always, simulator.AnswerStatus(status))
			d := r.read(diagnosis.Options{Probe: true})
			requireFailure(t, d, code, health.StageTransportAuth, health.PhaseEngineNeedsAuth)
			require.Len(t, d.Tools.Direct.Trace.Steps, 1)
			require.Equal(t, status, d.Tools.Direct.Trace.Steps[0].HTTPStatus)
			require.True(t, d.Tools.Direct.Checked)
			require.Equal(t, 1, r.ledger.wakes(), "the workflow believes in ready")
		})
	}
}

func TestAProbeSaysWhatWasAnsweredAndWhereToLook(t *testing.T) {
	t.Parallel()
	for claim, tc := range map[string]struct {
		step          string
		fault         simulator.Fault
		message, next string
		retryable     bool
	}{
		"404":       {"initialize", simulator.AnswerStatus(404), "http 404 to initialize: there is no mcp endpoint at this path", "Check the path", false},
		"405":       {"initialize", simulator.AnswerStatus(405), "http 405 to initialize: there is no mcp endpoint at this path", "Check the path", false},
		"404 later": {"tools/list", simulator.AnswerStatus(404), "http 404 to tools_list", "Look at the MCP server", false},
		"400":       {"initialize", simulator.AnswerStatus(400), "http 400 to initialize", "Look at the MCP server", false},
		"503":       {"initialize", simulator.AnswerStatus(503), "http 503 to initialize", "Look at the MCP server", true},
		"429":       {"initialize", simulator.AnswerStatus(429), "http 429 to initialize", "Wait", true},
		"302":       {"initialize", simulator.AnswerStatus(302), "redirects elsewhere", "redirects to", false},
		"a page":    {"initialize", simulator.AnswerHTML(200), "not usable mcp", "Check that the URL", false},
		"an error":  {"tools/list", simulator.Fault{Status: 200, Body: `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}`}, "json-rpc error", "ask its operator", false},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.endpoint.Inject(tc.step, simulator.Always, tc.fault)
			d := r.read(diagnosis.Options{Probe: true})
			requireFailure(t, d, health.CodeToolsMissing, health.StageToolRegistration, health.PhaseToolsMissing)
			require.Contains(t, d.FirstFailure.Message, tc.message)
			require.Contains(t, d.FirstFailure.RecommendedAction, tc.next)
			require.Equal(t, tc.retryable, d.FirstFailure.Retryable)
		})
	}
}

func TestCase33AProbeThatFailsAtTheListBeginsAnewNextTime(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.endpoint.Inject("tools/list", 1, simulator.AnswerStatus(502))
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeToolsMissing, health.StageToolRegistration, health.PhaseToolsMissing)
	require.True(t, d.FirstFailure.Retryable)
	handshakes := r.endpoint.Count("initialize")
	require.True(t, r.read(diagnosis.Options{Probe: true}).Usable)
	require.Equal(t, handshakes+1, r.endpoint.Count("initialize"))
}

func TestCase34OneMissingToolMakesBothMissing(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.endpoint.SetTools("search_capabilities")
	pushes := r.engine.Calls(simulator.RouteRegister, "")
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeToolsMissing, health.StageToolRegistration, health.PhaseToolsMissing)
	require.Equal(t, []string{"search_capabilities"}, d.Tools.Direct.Present)
	require.Equal(t, []string{"execute_capability"}, d.Tools.Direct.Missing)
	require.Equal(t, diagnosis.Listing{Expected: both(), Present: []string{}, Missing: both()}, d.Tools.Listing)
	require.Equal(t, pushes, r.engine.Calls(simulator.RouteRegister, ""))
}

func TestCase35AnEndpointThatOneReadDidNotReachProvesNothing(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.endpoint.Stop()
	d := r.read(diagnosis.Options{Probe: true})
	require.True(t, d.Usable, "the ledger's own looks decide")
	require.False(t, d.Tools.Direct.Checked)
	require.Empty(t, d.Tools.Direct.Missing)
	require.Empty(t, d.Tools.Missing)
	require.Equal(t, health.CodeProbeUnreachable, d.Tools.Direct.Failure.Code)
	require.Contains(t, d.Tools.Direct.Error, "refused")
	require.NotEmpty(t, d.Tools.Direct.Failure.Details["causes"])
	require.Equal(t, 1, r.ledger.wakes())
}

func TestAProbeIsSentWhateverTheEngineSaysOfItsEntry(t *testing.T) {
	t.Parallel()
	entry := func(status string) simulator.Fault {
		return simulator.Fault{Status: 200, Body: `{"` + cloud + `":` + status + `}`}
	}
	for claim, tc := range map[string]struct {
		answer simulator.Fault
		shown  string
		code   health.Code
	}{
		"failed":      {entry(`{"status":"failed","error":"HTTP 503"}`), "failed", health.CodeSyncFailed},
		"missing":     {simulator.Fault{Status: 200, Body: `{}`}, "missing", health.CodeCloudMissing},
		"disabled":    {entry(`{"status":"disabled"}`), "disabled", health.CodeDisabled},
		"needs auth":  {entry(`{"status":"needs_auth"}`), "needs_auth", health.CodeNeedsAuth},
		"unreachable": {simulator.AnswerStatus(500), "unreachable", health.CodeEngineUnreachable},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			r := ready(t)
			r.engine.Inject(simulator.RouteStatus, simulator.Always, tc.answer)
			d := r.read(diagnosis.Options{Probe: true, Provider: simulator.ProviderID, Model: simulator.ToolModel})
			require.Equal(t, tc.shown, d.Engine.Status)
			require.Equal(t, tc.code, d.FirstFailure.Code)
			require.True(t, d.Tools.Direct.Checked)
			require.Equal(t, []string{"initialize", "initialized_notice", "tools_list"}, steps(d))
			require.Nil(t, d.Tools.Direct.Failure)
			require.Equal(t, both(), d.Tools.Missing, "no tool is there for a model")
			require.False(t, d.Tools.ProviderProjection.Checked)
			require.Zero(t, r.engine.Calls(simulator.RouteProviderTools, ""))

			r.endpoint.Inject("initialize", simulator.Always, simulator.AnswerStatus(401))
			d = r.read(diagnosis.Options{Probe: true})
			require.Equal(t, tc.code, d.FirstFailure.Code, "what the engine says comes first")
			require.Equal(t, health.CodeInvalidToken, d.Tools.Direct.Failure.Code)

			asked := r.endpoint.Count(simulator.AnyRequest)
			r.read(diagnosis.Options{})
			require.Equal(t, asked, r.endpoint.Count(simulator.AnyRequest), "only where it is asked for")
		})
	}
}

func TestAnEndpointThatIsBackWhileItsDeliveryFailedWakesTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.failed(health.EndpointUnreachable("refused", nil))
	d := r.read(diagnosis.Options{Probe: true})
	require.Equal(t, "missing", d.Engine.Status)
	require.Nil(t, d.Tools.Direct.Failure)
	require.Equal(t, 1, r.ledger.wakes())
}

func TestCase36AListThatIsAnErrorIsNotRetryable(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.endpoint.Inject("tools/list", simulator.Always,
		simulator.Fault{Status: 200, Body: `{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}`})
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeToolsMissing, health.StageToolRegistration, health.PhaseToolsMissing)
	require.False(t, d.FirstFailure.Retryable)
}

func TestCase37ProbesAtTheSameTimeShareOneSession(t *testing.T) {
	t.Parallel()
	r := ready(t)
	handshakes := r.endpoint.Count("initialize")
	open := make(chan struct{})
	r.endpoint.Inject("initialize", 1, simulator.Fault{Until: open})
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			r.read(diagnosis.Options{Probe: true, Provider: simulator.ProviderID, Model: simulator.ToolModel})
		})
	}
	// Who asks for a model asks the endpoint at the same time.
	testkit.Eventually(t, time.Minute, func() bool { return r.engine.Calls(simulator.RouteModels, r.key.Directory) == 6 },
		"all six ask")
	close(open)
	all.Wait()
	require.Equal(t, handshakes+1, r.endpoint.Count("initialize"))
	r.read(diagnosis.Options{Probe: true})
	require.Equal(t, handshakes+2, r.endpoint.Count("initialize"))
}

func TestAProbeOfAGenericServerListsWhatThereIs(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.put(func(row *store.Desired) { row.Profile, row.Config.URL = domain.ProfileGeneric, r.endpoint.URL() })
	r.register()
	r.verified()
	d := r.read(diagnosis.Options{Probe: true})
	require.True(t, d.Usable, d.FirstFailure)
	require.Empty(t, d.Tools.Expected)
	require.ElementsMatch(t, both(), d.Tools.Present)
	require.Equal(t, diagnosis.Listing{Expected: []string{}, Present: []string{}, Missing: []string{}}, d.PluginCanaries)
	require.False(t, d.Compatibility.SupportedFeatures.PluginCanaries)
}

func TestAProbeThatContradictsTheWorkflowWakesIt(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.failed(health.EndpointUnreachable("refused", nil))
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeEndpointUnreachable, health.StageEngineDelivery, health.PhaseEngineFailed)
	require.Zero(t, r.ledger.wakes(), "an engine that says connected knows nothing of the endpoint")
	d = r.read(diagnosis.Options{Probe: true})
	require.False(t, d.Usable, "not before the workflow has verified it")
	require.Equal(t, 1, r.ledger.wakes())
}

func TestADegradedConnectionThatAProbeFindsWellWakesItsWorkflow(t *testing.T) {
	t.Parallel()
	r := ready(t)
	h, err := r.ledger.Health(t.Context(), r.key)
	require.NoError(t, err)
	h.Delivery.Degraded = &connection.Degraded{Failure: health.EndpointUnreachable("refused", nil)}
	r.ledger.tells(h)
	require.Equal(t, delivery.Ready, r.read(diagnosis.Options{Probe: true}).Delivery.State)
	require.Equal(t, 1, r.ledger.wakes())
}
