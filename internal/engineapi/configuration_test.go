package engineapi_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

func TestAFileThatTheEngineCannotUseIsNamedAndNotQuoted(t *testing.T) {
	t.Parallel()
	for claim, tc := range map[string]struct {
		body string
		want engineapi.ConfigurationError
	}{
		"not json": {
			`{"name":"ConfigJsonError","data":{"path":"/srv/opencode.json","message":"--- JSONC Input --- {\"apiKey\":\"secret\""}}`,
			engineapi.ConfigurationError{Name: "ConfigJsonError", Path: "/srv/opencode.json"},
		},
		"not a config": {
			`{"name":"ConfigInvalidError","data":{"path":"/srv/opencode.json","issues":[{"path":["tools",0,"deny"],"message":"got secret"}]}}`,
			engineapi.ConfigurationError{Name: "ConfigInvalidError", Path: "/srv/opencode.json", Keys: "tools.deny"},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, answer(http.StatusBadRequest, tc.body))
			_, err := clientFor(t, e).Configuration(t.Context(), directory)
			var file *engineapi.ConfigurationError
			require.ErrorAs(t, err, &file)
			require.Equal(t, tc.want, *file)
			require.Equal(t, httpclient.KindStatus, httpclient.KindOf(err))
			require.Contains(t, err.Error(), "/srv/opencode.json")
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestAnotherRefusalIsNoFault(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusBadRequest, `{"name":"BadRequest","data":{"path":"x"}}`))
	_, err := clientFor(t, e).Configuration(t.Context(), directory)
	var file *engineapi.ConfigurationError
	require.NotErrorAs(t, err, &file)
}

func TestAModelIsAbsentOrCannotCallTools(t *testing.T) {
	t.Parallel()
	const list = `{"providers":[{"id":"p","models":{"no":{"capabilities":{"toolcall":false}},"silent":{}}}]}`
	for claim, tc := range map[string]struct {
		provider, model string
		want            engineapi.Model
	}{
		"cannot":            {"p", "no", engineapi.Model{Exists: true}},
		"does not say":      {"p", "silent", engineapi.Model{Exists: true}},
		"absent":            {"p", "other", engineapi.Model{}},
		"absent with its p": {"q", "no", engineapi.Model{}},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			got, err := clientFor(t, startEngine(t, answer(http.StatusOK, list))).Model(t.Context(), directory, tc.provider, tc.model)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

// The engine never ends this answer: whoever reads on past the provider waits in vain.
func TestAListOfProvidersIsReadNoFurtherThanNeeded(t *testing.T) {
	t.Parallel()
	e := startEngine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"providers":[{"id":"p","models":{"m":{"capabilities":{"toolcall":true}}}},`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	client := newClient(t, engineapi.Options{BaseURL: e.URL, Timeout: time.Hour})
	got, err := client.Model(t.Context(), directory, "p", "m")
	require.NoError(t, err)
	require.Equal(t, engineapi.Model{Exists: true, ToolCall: true}, got)
}

func TestAListOfProvidersThatStopsIsATimeout(t *testing.T) {
	t.Parallel()
	e := startEngine(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"providers":[`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	client := newClient(t, engineapi.Options{BaseURL: e.URL, Timeout: 50 * time.Millisecond})
	_, err := client.Model(t.Context(), directory, "p", "m")
	require.Equal(t, httpclient.KindTimeout, httpclient.KindOf(err))
}
