package contract

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// statusCases is what GET /mcp does and does not tell.
func statusCases() map[string]func(*testing.T, *site) {
	return map[string]func(*testing.T, *site){
		"an unused directory has no servers": func(t *testing.T, s *site) {
			require.JSONEq(t, `{}`, s.status(t))
		},
		"connected outlives a dead server":          checkConnectedOutlivesDeath,
		"connected outlives a rotated bearer":       checkConnectedOutlivesRotation,
		"connected says nothing of the tools":       checkConnectedWithoutTools,
		"404 for a lost session is healed in place": checkLostSession404,
		"400 for a lost session is never healed":    checkLostSession400,
		"a push repairs a session lost with 400":    checkPushRepairsSession,
		"upstream sessions are never deleted":       checkSessionsLeak,
		"without the capability resources say nothing": func(t *testing.T, s *site) {
			up := endpoint(t, simulator.EndpointOptions{})
			s.register(t, "cloud", remote(up.URL(), 5000))
			require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
			require.Zero(t, up.Count("resources/list"))
		},
	}
}

const demoResource = `{"cloud:demo://a":{"name":"demo://a","uri":"demo://a","client":"cloud"}}`

// withResources registers a server whose liveness the engine can be made to probe.
func withResources(t *testing.T, s *site, lostStatus int) *simulator.Endpoint {
	t.Helper()
	up := endpoint(t, simulator.EndpointOptions{Resources: []string{"demo://a"}, LostStatus: lostStatus})
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(up.URL(), 5000)))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"))
	return up
}

func checkConnectedOutlivesDeath(t *testing.T, s *site) {
	up := withResources(t, s, 0)
	up.Stop()
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"), "the engine has just found out")
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.NoError(t, up.Start())
	testkit.Eventually(t, patience, func() bool { return s.get(t, "/experimental/resource") != "{}" },
		"a server that is back with its sessions needs no repair")
}

func checkConnectedOutlivesRotation(t *testing.T, s *site) {
	up := withResources(t, s, 0)
	up.Rotate("new")
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.JSONEq(t, connected("cloud"), s.status(t))
	config := remote(up.URL(), 5000)
	config["headers"] = map[string]string{"Authorization": "Bearer new"}
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", config))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"))
}

func checkConnectedWithoutTools(t *testing.T, s *site) {
	none := endpoint(t, simulator.EndpointOptions{Tools: []string{}})
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(none.URL(), 5000)))
	paged := endpoint(t, simulator.EndpointOptions{Tools: []string{"a", "b", "c"}, PageSize: 1})
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(paged.URL(), 5000)))
	require.Equal(t, 3, paged.Count("tools/list"), "cursors are followed")
	require.NotContains(t, s.get(t, "/experimental/tool/ids"), "cloud", "built-in tools only")
}

func checkLostSession404(t *testing.T, s *site) {
	up := withResources(t, s, http.StatusNotFound)
	up.ForgetSessions()
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"))
	require.Equal(t, 1, up.Sessions())
	require.Equal(t, 2, up.Count("initialize"))
}

func checkLostSession400(t *testing.T, s *site) {
	up := withResources(t, s, http.StatusBadRequest)
	up.ForgetSessions()
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.Equal(t, 1, up.Count("initialize"))
}

func checkPushRepairsSession(t *testing.T, s *site) {
	up := withResources(t, s, http.StatusBadRequest)
	require.NoError(t, up.Restart())
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(up.URL(), 5000)))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"))
}

func checkSessionsLeak(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	config := remote(up.URL(), 5000)
	s.register(t, "cloud", config)
	s.register(t, "cloud", config)
	require.JSONEq(t, `true`, s.post(t, "/mcp/cloud/disconnect"))
	s.register(t, "cloud", config)
	require.JSONEq(t, `true`, s.post(t, "/instance/dispose"))
	require.Equal(t, 3, up.Sessions())
	require.Zero(t, up.Count(simulator.DeleteMethod))
}
