package diagnosis_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// fields are the members of the document that must always be there, by the object that has them.
var fields = map[string][]string{
	"": {
		"schemaVersion", "phase", "usable", "usableByCurrentModel", "connectCatalogEnabled", "appHostAuthorizationReady", "workspace",
		"desired", "delivery", "engine", "engineInspection", "tools", "pluginCanaries", "compatibility", "toolDenies",
		"firstFailure", "checkedAt", "durationMs",
	},
	"workspace":      {"id", "type", "directory", "path"},
	"desired":        {"present", "name", "revision", "config", "token"},
	"desired.token":  {"present"},
	"delivery":       {"state", "desiredRevision", "appliedRevision", "updatedAt", "appliedAt", "lastAttemptAt", "trigger", "failure"},
	"engine":         {"status"},
	"tools":          {"expected", "present", "missing", "direct", "providerProjection"},
	"tools.direct":   {"checked", "source", "expected", "present", "missing"},
	"pluginCanaries": {"expected", "present", "missing"},
	"compatibility": {
		"openwork", "opencode", "pluginFileHashes", "supportedFeatures", "experimentalToolIds", "experimentalProviderTools",
	},
	"compatibility.openwork": {"serverVersion", "app"},
	"compatibility.opencode": {"expectedVersion", "actualVersion", "probe"},
	"compatibility.supportedFeatures": {
		"dynamicMcp", "directoryScoping", "toolIds", "providerToolProjection", "pluginCanaries",
	},
	"compatibility.experimentalToolIds": {"includesMcpTools"},
	"engineInspection":                  {"checked"},
	"tools.providerProjection":          {"checked", "present", "missing"},
}

// further are there when all was asked and answered.
var further = map[string][]string{
	"engineInspection":         {"cloudPresent", "serverCount", "servers"},
	"tools.direct":             {"trace"},
	"tools.providerProjection": {"provider", "model", "source", "limitation", "modelExists", "toolCalling"},
	"desired":                  {"org", "app", "updatedAt", "profile"},
	"desired.token":            {"metadata"},
	"desired.config":           {"type", "url", "enabled", "headers", "oauth"},
}

// objects are all objects of a document by their paths.
func objects(path string, value any, into map[string]map[string]any) {
	object, ok := value.(map[string]any)
	if !ok {
		return
	}
	into[path] = object
	for name, below := range object {
		if path != "" {
			name = path + "." + name
		}
		objects(name, below, into)
	}
}

func requireFields(t *testing.T, d diagnosis.Document, wanted map[string][]string) {
	t.Helper()
	text, err := json.Marshal(d)
	require.NoError(t, err)
	var whole any
	require.NoError(t, json.Unmarshal(text, &whole))
	found := map[string]map[string]any{}
	objects("", whole, found)
	for path, names := range wanted {
		have := slices.Collect(maps.Keys(found[path]))
		require.Subset(t, have, names, path)
	}
	require.NotContains(t, string(text), `"present":null`)
	require.NotContains(t, string(text), `"missing":null`)
	require.NotContains(t, string(text), `"expected":null`)
}

func TestADocumentHasEveryFieldWhateverIsKnown(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.put(func(row *store.Desired) {
		row.Metadata.Token = map[string]any{"organizationId": "o"}
		row.Metadata.Org = map[string]any{"id": "o"}
		row.Metadata.App = map[string]any{"version": "7"}
	})
	r.verified()
	d := r.read(diagnosis.Options{Probe: true, Provider: simulator.ProviderID, Model: simulator.ToolModel})
	require.True(t, d.Usable, d.FirstFailure)
	requireFields(t, d, fields)
	requireFields(t, d, further)
	require.Equal(t, map[string]any{"version": "7"}, d.Compatibility.OpenWork.App)

	_, err := r.store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	requireFields(t, r.read(diagnosis.Options{}), fields)
}

// withToken resolves as the real one, with what is known of a minted token.
type withToken struct {
	diagnosis.Resolver

	token *desired.TokenView
}

func (w withToken) Resolve(ctx context.Context, key delivery.Key) (desired.Resolved, error) {
	got, err := w.Resolver.Resolve(ctx, key)
	got.Token = w.token
	return got, err
}

func TestTheExpiryOfATokenIsShown(t *testing.T) {
	t.Parallel()
	expires, renewed := time.Now().Add(time.Hour), time.Now().Add(time.Minute)
	r := ready(t, func(p *diagnosis.Params) {
		p.Resolver = withToken{p.Resolver, &desired.TokenView{
			Source: "client_credentials", Sequence: 3, ExpiresAt: &expires, RenewAt: &renewed,
		}}
	})
	d := r.read(diagnosis.Options{Probe: true})
	require.Equal(t, diagnosis.Token{
		Present: true, Source: "client_credentials", ExpiresAt: &expires, RenewAt: &renewed,
	}, d.Desired.Token)
	require.True(t, d.Tools.Direct.Checked)
}

func TestWithoutATokenTheEndpointIsNotAsked(t *testing.T) {
	t.Parallel()
	r := ready(t, func(p *diagnosis.Params) {
		p.Resolver = withToken{p.Resolver, &desired.TokenView{Source: "client_credentials"}}
	})
	r.failed(health.TokenSourceUnreachable("refused"))
	asked := r.endpoint.Count(simulator.AnyRequest)
	d := r.read(diagnosis.Options{Probe: true})
	requireFailure(t, d, health.CodeTokenSourceUnreachable, health.StageTokenMint, health.PhaseEngineFailed)
	require.False(t, d.Desired.Token.Present)
	require.False(t, d.Tools.Direct.Checked)
	require.NotEmpty(t, d.Tools.Direct.Error)
	require.Equal(t, asked, r.endpoint.Count(simulator.AnyRequest))
}

func TestWhatIsSaidBesideAConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.put(func(d *store.Desired) {
		d.Metadata.Token = map[string]any{"token": "canary-1", "expiresAt": "2030-01-01"}
		d.Metadata.Org = map[string]any{"secret": "canary-2", "id": "acme"}
		d.Metadata.App = map[string]any{"apiKey": "canary-3", "version": "1.2"}
	})
	d := r.read(diagnosis.Options{})
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.NotContains(t, string(text), "canary-")
	require.Equal(t, "acme", d.Desired.Org["id"])
	require.Equal(t, "1.2", d.Compatibility.OpenWork.App["version"])
	require.Equal(t, "2030-01-01", d.Desired.Token.Metadata["expiresAt"])
}
