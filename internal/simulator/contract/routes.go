package contract

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// routeCases is how the other routes behave.
func routeCases() map[string]func(*testing.T, *site) {
	return map[string]func(*testing.T, *site){
		"disconnect is idempotent and connect undoes it":   checkDisconnect,
		"connect answers true whatever came of it":         checkConnectAnswersTrue,
		"an unknown name is 404":                           checkUnknownName,
		"dispose drops what was registered":                checkDispose,
		"any config patch disposes the instance":           checkPatchConfig,
		"configured servers come back after a dispose":     checkConfigured,
		"registered servers are not in the configuration":  checkNotInConfiguration,
		"directories are independent":                      checkIndependence,
		"slashes and symlinks lead to the same directory":  checkSameDirectory,
		"a directory that does not exist is taken":         checkMissingDirectory,
		"anything else is answered with a page, not JSON":  checkUnknownRoute,
		"health, sessions, providers and tools are listed": checkReads,
	}
}

func checkDisconnect(t *testing.T, s *site) {
	withResources(t, s, 0)
	require.JSONEq(t, `true`, s.post(t, "/mcp/cloud/disconnect"))
	require.JSONEq(t, `true`, s.post(t, "/mcp/cloud/disconnect"))
	require.JSONEq(t, disabled("cloud"), s.status(t))
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.JSONEq(t, `true`, s.post(t, "/mcp/cloud/connect"))
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"))
}

func checkConnectAnswersTrue(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{Token: "right"})
	s.register(t, "cloud", remote(up.URL(), 5000))
	require.JSONEq(t, `true`, s.post(t, "/mcp/cloud/connect"))
	require.JSONEq(t, failed("cloud", "SSE error: Non-200 status code (401)"), s.status(t))
}

func checkUnknownName(t *testing.T, s *site) {
	for _, verb := range []string{"connect", "disconnect"} {
		answer := ask(t, http.MethodPost, s.url("/mcp/unknown/"+verb, s.directory), nil)
		require.Equal(t, http.StatusNotFound, answer.status)
		require.JSONEq(t,
			`{"_tag":"McpServerNotFoundError","name":"unknown","message":"MCP server not found: unknown"}`, answer.body)
	}
}

func checkDispose(t *testing.T, s *site) {
	withResources(t, s, 0)
	require.JSONEq(t, `true`, s.post(t, "/instance/dispose"))
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, `true`, s.post(t, "/instance/dispose"), "of an instance that is not there")
}

func checkPatchConfig(t *testing.T, s *site) {
	withResources(t, s, 0)
	answer := ask(t, http.MethodPatch, s.url("/config", s.directory), map[string]any{})
	require.Equal(t, http.StatusOK, answer.status)
	testkit.Eventually(t, patience, func() bool { return s.status(t) == "{}" }, "the instance is disposed")
}

func checkConfigured(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	s.engine.Configure(s.directory, "fixed", remote(up.URL(), 5000))
	require.JSONEq(t, connected("fixed"), s.status(t))
	s.post(t, "/mcp/fixed/disconnect")
	require.JSONEq(t, disabled("fixed"), s.status(t))
	s.post(t, "/instance/dispose")
	require.JSONEq(t, connected("fixed"), s.status(t), "a disconnect is forgotten")
	require.Contains(t, s.configured(t), "fixed")
}

func checkNotInConfiguration(t *testing.T, s *site) {
	withResources(t, s, 0)
	require.Empty(t, s.configured(t))
}

func (s *site) configured(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	var config struct {
		MCP map[string]json.RawMessage `json:"mcp"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.get(t, "/config")), &config))
	return config.MCP
}

func checkIndependence(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	other := &site{engine: s.engine, directory: filepath.Join(s.directory, "other")}
	s.register(t, "cloud", remote(up.URL(), 5000))
	require.JSONEq(t, `{}`, other.status(t))
	other.register(t, "cloud", remote(up.URL(), 5000))
	require.Equal(t, 2, up.Sessions())
	s.post(t, "/instance/dispose")
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, connected("cloud"), other.status(t))
}

func checkSameDirectory(t *testing.T, s *site) {
	withResources(t, s, 0)
	link := s.directory + "-link"
	require.NoError(t, os.Symlink(s.directory, link))
	for _, directory := range []string{s.directory + "/", link} {
		require.JSONEq(t, connected("cloud"), ask(t, http.MethodGet, s.url("/mcp", directory), nil).body, directory)
	}
}

func checkMissingDirectory(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	s.directory = filepath.Join(s.directory, "missing")
	require.JSONEq(t, `{}`, s.status(t))
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(up.URL(), 5000)))
}

func checkUnknownRoute(t *testing.T, s *site) {
	answer := ask(t, http.MethodGet, s.url("/no/such/route", s.directory), nil)
	require.Equal(t, http.StatusOK, answer.status)
	require.Contains(t, answer.header.Get("Content-Type"), "text/html")
}

func checkReads(t *testing.T, s *site) {
	require.JSONEq(t, `{"healthy":true,"version":"`+simulator.EngineVersion+`"}`, s.get(t, "/global/health"))
	require.JSONEq(t, `{}`, s.get(t, "/session/status"))
	var providers struct {
		All []struct {
			ID     string
			Models map[string]struct {
				Capabilities struct{ Toolcall *bool }
			}
		}
		Connected []string
	}
	require.NoError(t, json.Unmarshal([]byte(s.get(t, "/provider")), &providers))
	require.NotEmpty(t, providers.All)
	require.NotEmpty(t, providers.Connected)
	for _, model := range providers.All[0].Models {
		require.NotNil(t, model.Capabilities.Toolcall)
	}
	var ids []string
	require.NoError(t, json.Unmarshal([]byte(s.get(t, "/experimental/tool/ids")), &ids))
	require.Contains(t, ids, "bash")
}
