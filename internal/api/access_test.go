package api_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// sample fills a path in with what the rig has.
func sample(route api.RouteInfo) string {
	path := route.Path
	for _, pair := range [][2]string{ // the longer before the shorter
		{"/tokens/{id}", "/tokens/0000000000000000"},
		{"/requests/{id}", "/requests/none"},
		{"/executions/{id}", "/executions/" + executionKey},
		{"/approvals/{id}", "/approvals/" + pauseID},
		{"/mcp-sessions/{id}", "/mcp-sessions/" + sessionID},
		{"{sid}", sessionID},
		{"{eid}", pauseID},
		{"{address}", toolAddress},
		{"{id}", workspace},
		{"{workspace}", workspace},
		{"{name}", "own"},
		{"{account}", account},
	} {
		path = strings.ReplaceAll(path, pair[0], pair[1])
	}
	if strings.HasPrefix(path, "/api/v1/accounts") {
		path = strings.ReplaceAll(path, "/own", "/shared")
	}
	return path
}

// bodies are what routes take that need a body.
var bodies = map[string]string{
	"addServer": `{"name":"more","config":{"url":"http://127.0.0.1:9/mcp"}}`, "setEnabled": `{"enabled":false}`,
	"putWorkspace": `{"directory":"/srv/w2","engine":"engine-1"}`, "putShared": `{"config":{"url":"http://127.0.0.1:9/mcp"}}`,
	"createToken": `{"name":"x","role":"viewer"}`, "execute": `{"tool":"demo.read"}`, "resumeExecution": `{"action":"accept"}`,
	"decide": `{"action":"accept"}`, "decideSessionExecution": `{"action":"accept"}`,
}

func TestEveryRouteAsksWhoIsThereAndLetsInTheRolesThatItShould(t *testing.T) {
	t.Parallel()
	for _, route := range api.Routes() {
		if route.Stream {
			continue // it has a test of its own: an answer that does not end cannot be read whole
		}
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			ask := func(role auth.Role) answer {
				return r.do(request{method: route.Method, path: sample(route), role: role, body: bodies[route.ID]})
			}
			if route.Least == "" {
				ask("").requireOK()
				return
			}
			stranger := ask("")
			stranger.requireError(http.StatusUnauthorized, "unauthorized")
			require.NotEmpty(t, stranger.header.Get("WWW-Authenticate"))
			for _, role := range auth.Roles() {
				got := ask(role)
				if !role.Allows(route.Least) {
					got.requireError(http.StatusForbidden, "forbidden")
					continue
				}
				require.NotContains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, got.status, string(got.body))
				require.Less(t, got.status, 500, string(got.body))
			}
		})
	}
}

func TestAReadOnlyGatewayRefusesWhatWouldChangeSomethingAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.ReadOnly = true })
	for _, route := range api.Routes() {
		if route.Stream {
			continue
		}
		got := r.do(request{method: route.Method, path: sample(route), role: auth.RoleOwner, body: bodies[route.ID]})
		if route.Writes {
			got.requireError(http.StatusForbidden, "read_only")
			continue
		}
		require.NotEqual(t, "read_only", got.code(), route.ID)
	}
	require.Empty(t, r.connections.of("reconcile"))
	for _, route := range api.Routes() {
		require.Equal(t, route.Method != http.MethodGet, route.Writes, route.ID)
	}
}

func TestAnOpenGatewayTakesWhoeverReachesItAsOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.Open = true })
	r.do(request{method: http.MethodGet, path: "/api/v1/tokens"}).requireOK()
}

func TestATokenIsTakenInOneFormOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token := r.tokens[auth.RoleOwner]
	for _, header := range []string{token, "Basic " + token, "Bearer", "Bearer " + token + "x", "Bearer x " + token} {
		r.do(request{method: http.MethodGet, path: "/api/v1/tokens", header: map[string]string{"Authorization": header}}).
			requireError(http.StatusUnauthorized, "unauthorized")
	}
	r.do(request{method: http.MethodGet, path: "/api/v1/tokens?token=" + token}).requireError(http.StatusUnauthorized, "unauthorized")
	r.do(request{method: http.MethodGet, path: "/api/v1/tokens", header: map[string]string{"Authorization": "bearer " + token}}).requireOK()
}

func TestWhoeverShowsATokenThatIsNotValidIsToldSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	none := r.raw(request{method: http.MethodGet, path: "/api/v1/approvals"})
	none.requireError(http.StatusUnauthorized, "unauthorized")
	require.Contains(t, string(none.body), "Send Authorization: Bearer")
	for _, token := range []string{"s3cr3t", r.tokens[auth.RoleOwner] + "x", "hft_0123456789abcdef_s3cr3t"} {
		wrong := r.raw(request{method: http.MethodGet, path: "/api/v1/approvals", header: map[string]string{"Authorization": "Bearer " + token}})
		wrong.requireError(http.StatusUnauthorized, "unauthorized")
		require.Contains(t, string(wrong.body), "unknown, expired or revoked")
		require.Contains(t, string(wrong.body), "holdfast token create")
		require.NotContains(t, string(wrong.body), token)
	}
}

func TestOnlyNamesOfItsOwnReachTheGateway(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.Hosts = []string{"mcp.example.com"} })
	for host, reached := range map[string]bool{
		"localhost": true, "127.0.0.1:8236": true, "[::1]:8236": true, "MCP.example.com": true, "mcp.example.com:443": true,
		"evil.example.com": false, "localhost.evil.example.com": false, "10.0.0.7": false, "mcp.example.com.": false,
	} {
		for _, route := range api.Routes() {
			if route.Stream {
				continue
			}
			got := r.raw(request{method: route.Method, path: sample(route), header: map[string]string{"Host": host}})
			if !reached {
				got.requireError(http.StatusForbidden, "forbidden")
				continue
			}
			require.NotEqual(t, http.StatusForbidden, got.status, "%s at %s", route.ID, host)
		}
	}
	anywhere := newRig(t, func(p *api.Params) { p.Settings.AnyAddress = true })
	require.Equal(t, http.StatusOK, anywhere.raw(request{method: http.MethodGet, path: "/healthz", header: map[string]string{"Host": "10.0.0.7:8236"}}).status)
}

func TestPagesOfOthersCannotCallTheGateway(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Settings.Origins = []string{"https://ui.example"} })
	own := "http://" + strings.TrimPrefix(r.server.URL, "http://")
	for origin, allowed := range map[string]bool{
		own: true, "https://ui.example": true, "https://ui.example.evil": false, "http://ui.example": false, "null": false,
		"http://localhost:1": false, "file://": false,
	} {
		for _, route := range api.Routes() {
			if route.Stream {
				continue
			}
			got := r.raw(request{
				method: route.Method, path: sample(route), role: auth.RoleViewer, body: bodies[route.ID], header: map[string]string{"Origin": origin},
			})
			require.Equal(t, !allowed, strings.Contains(string(got.body), "gateway.origins"), "%s from %s: %s", route.ID, origin, got.body)
		}
	}
	preflight := r.raw(request{method: http.MethodOptions, path: "/api/v1/connections", header: map[string]string{
		"Origin": "https://ui.example", "Access-Control-Request-Method": "GET",
	}})
	require.Equal(t, http.StatusNoContent, preflight.status)
	require.Equal(t, "https://ui.example", preflight.header.Get("Access-Control-Allow-Origin"))
	require.Empty(t, r.get("/healthz").header.Get("Access-Control-Allow-Origin"))
}

func TestUnknownRoutesAndWrongMethodsSaySo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.raw(request{method: http.MethodGet, path: "/api/v1/nothing"}).requireError(http.StatusNotFound, "route_not_found")
	r.raw(request{method: http.MethodGet, path: "/"}).requireError(http.StatusNotFound, "route_not_found")
	wrong := r.raw(request{method: http.MethodPatch, path: "/workspace/w1/mcp"})
	wrong.requireError(http.StatusMethodNotAllowed, "method_not_allowed")
	require.Equal(t, "GET, HEAD, POST", wrong.header.Get("Allow"))
}

func TestBodiesAreBoundedAndHaveToBeObjects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post("/workspace/w1/mcp/own/reconcile", `{"x":"`+strings.Repeat("y", 1<<20)+`"}`).requireError(http.StatusRequestEntityTooLarge, "payload_too_large")
	for path := range map[string]bool{
		"/workspace/w1/mcp/own/reconcile": true, "/workspace/w1/mcp/own/engine-refresh": true, "/workspace/w1/mcp": true,
		"/workspace/w1/mcp/own/enabled": true, "/api/v1/connections/w1/own/probe": true, "/api/v1/tokens": true,
		"/api/v1/connections/w1/own/disable": true, "/api/v1/accounts/acme/connections/shared/enable": true,
	} {
		r.post(path, "not-json").requireError(http.StatusBadRequest, "invalid_json")
		r.post(path, `"text"`).requireError(http.StatusBadRequest, "invalid_payload")
		r.post(path, `[1]`).requireError(http.StatusBadRequest, "invalid_payload")
	}
	require.Empty(t, r.connections.of("refresh"))
	require.Empty(t, r.connections.of("reconcile"))
	r.post("/api/v1/connections/w1/own/probe", `{"tigger":"x"}`).requireError(http.StatusBadRequest, "invalid_payload")
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":"yes"}`).requireError(http.StatusBadRequest, "invalid_payload")
	r.post("/workspace/w1/mcp/own/enabled", `{}`).requireError(http.StatusBadRequest, "invalid_payload")
}

func TestEveryAnswerHasAnIDAndIsNotKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.do(request{method: http.MethodGet, path: "/healthz", header: map[string]string{"X-Request-Id": "mine-1"}})
	require.Equal(t, "mine-1", got.header.Get("X-Request-Id"))
	got = r.do(request{method: http.MethodGet, path: "/healthz", header: map[string]string{"X-Request-Id": "bad id"}})
	require.Regexp(t, `^[0-9a-f]{32}$`, got.header.Get("X-Request-Id"))
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
}

func TestAPanicIsAnAnswerAndNoEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Diagnosis = nil })
	r.do(request{method: http.MethodGet, path: "/workspace/w1/mcp/own/health", role: auth.RoleViewer}).
		requireError(http.StatusInternalServerError, "internal_error")
	r.post("/api/v1/connections/w1/own/probe", "").requireError(http.StatusInternalServerError, "internal_error")
	r.get("/healthz").requireOK()
}

var errInside = errors.New("dial /secret/place: " + secret)
