package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

func TestAParameterThatARouteDoesNotTakeIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, takes := range map[string]string{
		"/api/v1/approvals?limit=1": "scope, state, session, execution, pageSize, pageToken", "/api/v1/connections?directory=/a": "workspace, name,",
		"/api/v1/tokens?pageSize=1": "no parameters",
	} {
		got := r.do(request{method: http.MethodGet, path: path, role: auth.RoleOwner})
		got.requireError(http.StatusBadRequest, "invalid_payload")
		require.Contains(t, string(got.body), takes)
	}
	r.do(request{method: http.MethodGet, path: "/workspace/w1/mcp?at=1", role: auth.RoleOwner}).requireOK()
}

func TestWhatSomebodySaysIsShortAndPrintable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for path, member := range map[string]string{
		"/workspace/w1/mcp/own/reconcile":                         "trigger",
		"/workspace/w1/mcp/own/engine-refresh":                    "trigger",
		"/api/v1/connections/w1/own/probe":                        "trigger",
		"/api/v1/connections/w1/own/reconcile":                    "trigger",
		"/api/v1/connections/w1/own/refresh":                      "trigger",
		"/api/v1/connections/w1/own/mark-stale":                   "reason",
		"/api/v1/connections/w1/own/enable":                       "reason",
		"/api/v1/connections/w1/own/disable":                      "reason",
		"/api/v1/connections/w1/own/remove":                       "reason",
		"/api/v1/accounts/acme/connections/shared/enable":         "reason",
		"/api/v1/accounts/acme/connections/shared/disable":        "reason",
		"/api/v1/connections/w1/own/mark-stale?directory=/srv/w1": "reason",
	} {
		for _, text := range []string{strings.Repeat("x", 201), strings.Repeat("x", 900_000), "a\x00b", "a\nb", "\x1b[2J"} {
			body, err := json.Marshal(map[string]string{member: text})
			require.NoError(t, err)
			r.post(path, string(body)).requireError(http.StatusBadRequest, "invalid_payload")
		}
	}
	require.Empty(t, r.connections.of("mark-stale"))
	require.Empty(t, r.connections.of("ensure"))
	body, err := json.Marshal(map[string]string{"reason": " " + strings.Repeat("x", 200) + " "})
	require.NoError(t, err)
	r.post("/api/v1/connections/w1/own/mark-stale", string(body)).requireOK()
	require.Equal(t, strings.Repeat("x", 200), r.connections.of("mark-stale")[0].trigger)
}

func TestWhatNobodyCanReadIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{
		"/api/v1/connections?workspace=%ff", "/api/v1/connections?name=a%00b", "/api/v1/connections?pageToken=%00",
		"/api/v1/connections?name=%zz", "/api/v1/connections?engine=" + strings.Repeat("x", 5000), "/api/v1/connections/w%00/own", "/api/v1/requests/%ff",
		"/api/v1/workspaces/%ff", "/workspace/w1/mcp/own/health?provider=%ff&model=x", "/api/v1/workspaces/w1?directory=/a&directory=/b",
	} {
		got := r.raw(request{method: http.MethodGet, path: path, role: auth.RoleOwner})
		got.requireError(http.StatusBadRequest, "invalid_payload")
	}
	require.Zero(t, r.connections.lists)
	r.get("/api/v1/connections/w1/%ff").requireError(http.StatusBadRequest, "invalid_mcp_name")
	r.raw(request{method: http.MethodGet, path: "/api/v1/connections?workspace=%ff"}).requireError(http.StatusUnauthorized, "unauthorized")
}

func TestAnUncleanPathIsNoRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{
		"//api/v1/workspaces", "/api//v1/workspaces", "/api/v1/../v1/workspaces", "/./healthz", "/healthz/", "//",
		"/workspace//mcp", "/api/v1/connections/w1/../own",
	} {
		got := r.raw(request{method: http.MethodGet, path: path})
		got.requireError(http.StatusNotFound, "route_not_found")
		require.Equal(t, "application/json; charset=utf-8", got.header.Get("Content-Type"))
	}
}

func TestAnEmptyDirectoryIsAName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.putWorkspace(workspace, "/srv/other")
	r.do(request{method: http.MethodDelete, path: "/api/v1/workspaces/w1?directory=", role: auth.RoleOwner}).
		requireError(http.StatusNotFound, "workspace_not_found")
	r.get("/workspace/w1/mcp?directory=").requireError(http.StatusNotFound, "workspace_not_found")
	var list struct{ Items []struct{ Directory string } }
	r.get("/api/v1/workspaces/w1").requireOK().into(&list)
	require.Len(t, list.Items, 2)

	r.putWorkspace(workspace, "")
	r.do(request{method: http.MethodDelete, path: "/api/v1/workspaces/w1?directory=", role: auth.RoleOwner}).requireOK()
	r.get("/api/v1/workspaces/w1").requireOK().into(&list)
	require.Len(t, list.Items, 2)
	for _, item := range list.Items {
		require.NotEmpty(t, item.Directory)
	}
	for _, path := range []string{"/workspace/w1/mcp/own?directory=", "/workspace/w1/mcp/own?directory=/srv/w1"} {
		got := r.raw(request{method: http.MethodDelete, path: path, role: auth.RoleOwner})
		got.requireError(http.StatusBadRequest, "invalid_payload")
	}
	for _, gone := range r.connections.of("remove") {
		require.Empty(t, gone.key.Directory)
	}
}

func TestAWorkspaceOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	put := func(body string) answer {
		return r.do(request{method: http.MethodPut, path: "/api/v1/workspaces/x", role: auth.RoleOwner, body: body})
	}
	put(`{}`).requireError(http.StatusBadRequest, "invalid_payload")
	put(`{"directory":"","engine":""}`).requireError(http.StatusBadRequest, "invalid_payload")
	put(`{"directory":"/x","account":"a\u0000"}`).requireError(http.StatusBadRequest, "invalid_payload")
	put(`{"engine":"engine-1"}`).requireOK()
}

func TestAMemberThatIsNotKnownIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("x", 100)
	for member, named := range map[string]string{
		"resaon": `"resaon"`, "a\u0000\u001bb": `"ab"`, long: `"` + long[:64] + `". `, `qu"ote`: `"qu\"ote"`,
	} {
		body, err := json.Marshal(map[string]string{member: "canary"})
		require.NoError(t, err)
		a := r.post("/api/v1/connections/w1/own/mark-stale", string(body))
		a.requireError(http.StatusBadRequest, "invalid_payload")
		var said struct{ Message string }
		a.into(&said)
		require.Contains(t, said.Message, named)
		require.Contains(t, said.Message, "The body's own are reason: see /openapi.json")
		require.NotContains(t, said.Message, "canary")
	}
}
