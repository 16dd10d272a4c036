package cli_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	healthdoc "github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// delivered is a connection acme/search that an engine has, and whose workflow tells that it is ready.
type delivered struct {
	*line

	engine   *simulator.Engine
	endpoint *simulator.Endpoint
	key      delivery.Key
}

func newDelivered(t *testing.T) *delivered {
	t.Helper()
	d := &delivered{line: prepared(t)}
	var err error
	d.engine, err = simulator.NewEngine(simulator.EngineOptions{})
	require.NoError(t, err)
	t.Cleanup(d.engine.Close)
	d.endpoint, err = simulator.NewEndpoint(simulator.EndpointOptions{})
	require.NoError(t, err)
	t.Cleanup(d.endpoint.Close)
	d.key = delivery.Key{Workspace: "acme", Name: "search", Directory: "/srv/acme"}
	on := true
	config := desired.Config{Type: "remote", URL: d.endpoint.URL(), Enabled: &on, OAuth: json.RawMessage("false")}
	metadata := desired.DefaultMetadata()
	metadata.ExpectedTools = []string{"search_capabilities"}
	d.store(func(st *store.Store) {
		_, err := st.PutEngine(t.Context(), store.Engine{ID: "e", BaseURL: d.engine.BaseURL()})
		require.NoError(t, err)
		_, err = st.PutDesired(t.Context(), store.Desired{
			Key: d.key, EngineID: "e", Profile: desired.ProfileGeneric, Config: config, Metadata: metadata,
		})
		require.NoError(t, err)
	})
	client, err := engineapi.New(engineapi.Options{BaseURL: d.engine.BaseURL()})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Register(t.Context(), d.key.Directory, d.key.Name, config.EngineConfig(), time.Minute)
	require.NoError(t, err)

	d.connections.health = func() (connection.Health, error) { return standing(delivery.Ready, "another"), nil }
	d.run("connection", "health", "acme/search", "-o", "json")
	revision := *document[healthdoc.Document](d.line).Desired.Revision
	d.connections.health = func() (connection.Health, error) {
		h := standing(delivery.Ready, revision)
		at := noon
		h.Delivery.VerifiedAt = &at
		return h, nil
	}
	return d
}

func TestHealthForPeopleSaysHowAllOfItIs(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	require.Zero(t, d.run("connection", "health", "acme/search", "--probe",
		"--provider", simulator.ProviderID, "--model", simulator.ToolModel), d.stderr)
	for _, want := range []string{
		"ready", "connected", "search_search_capabilities", "simulator/scripted can call tools",
		"initialize", "initialized_notice", "tools_list", "http 200",
	} {
		require.Contains(t, d.stdout.String(), want)
	}
}

func TestHealthForPeopleSaysTheFailureAndTheNextStep(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	d.engine.SetConfiguration(d.key.Directory, `{"permission":{"search_*":"deny"}}`)
	require.Equal(t, cli.ExitNotReady, d.run("connection", "health", "acme/search"))
	for _, want := range []string{
		"denied_by_tools", "cloud_tools_denied", "Remove the rules",
		`search_search_capabilities by permission "search_*" of config.project`,
	} {
		require.Contains(t, d.stdout.String(), want)
	}
	require.Contains(t, d.stderr.String(), "acme/search is not usable")
}

func TestHealthForPeopleSaysWhatAProbeDidNotReach(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	d.endpoint.Stop()
	told := d.connections.health
	d.connections.health = func() (connection.Health, error) {
		h, err := told()
		h.Delivery.Degraded = &connection.Degraded{Since: noon, Failure: health.EndpointUnreachable("connection refused", nil)}
		return h, err
	}
	require.Zero(t, d.run("connection", "health", "acme/search", "--probe"), "one look that failed proves nothing: %s", d.stderr)
	table := d.stdout.String()
	require.Regexp(t, `degraded +since .*mcp_endpoint_unreachable.*\(connection refused\)`, table)
	require.Regexp(t, `probe +http://\S+, not reached`, table)
	require.Regexp(t, `probe failure +probe_unreachable: .* \(.*refused.*\)`, table)
	require.Regexp(t, `probe's next step +\S`, table)
}

func TestHealthForPeopleSaysTheProbesFailureBesideTheEngines(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	d.engine.Dispose(d.key.Directory)
	d.endpoint.Inject("initialize", simulator.Always, simulator.AnswerStatus(401))
	require.Equal(t, cli.ExitNotReady, d.run("connection", "health", "acme/search", "--probe"))
	table := d.stdout.String()
	require.Regexp(t, `failure +cloud_mcp_missing`, table)
	require.Regexp(t, `probe failure +invalid_mcp_token`, table)
	require.Contains(t, table, "http 401")
}

func TestHealthTellsTheStatusOfAStepOnce(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	d.endpoint.Rotate("another")
	d.run("connection", "health", "acme/search", "--probe")
	require.Contains(t, d.stdout.String(), "http 401")
	require.NotContains(t, d.stdout.String(), "http 401, http 401")
}

func TestHealthForProgramsIsTheDocument(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	require.Zero(t, d.run("connection", "health", "acme/search", "-o", "json"), d.stderr)
	got := document[map[string]any](d.line)
	for _, name := range []string{
		"schemaVersion", "phase", "usable", "usableByCurrentModel", "connectCatalogEnabled", "appHostAuthorizationReady", "workspace",
		"desired", "delivery", "engine", "engineInspection", "tools", "pluginCanaries", "compatibility", "toolDenies",
		"firstFailure", "checkedAt", "durationMs",
	} {
		require.Contains(t, got, name)
	}
	require.Equal(t, true, got["usable"])
}

func TestHealthOfAConnectionThatTheEngineLostWakesItsWorkflow(t *testing.T) {
	t.Parallel()
	d := newDelivered(t)
	d.engine.Dispose(d.key.Directory)
	require.Equal(t, cli.ExitNotReady, d.run("connection", "health", "acme/search"))
	require.Contains(t, d.stdout.String(), "engine_missing")
	require.Contains(t, d.connections.asked(), "wake")
}

func TestHealthWantsAWholeModel(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	require.Equal(t, cli.ExitUsage, l.run("connection", "health", "acme/search", "--provider", "p"))
	require.Contains(t, l.stderr.String(), "--model")
}
