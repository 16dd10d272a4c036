package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

func TestToolsAreFoundAndShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Len(t, r.list(auth.RoleViewer, "/api/v1/tools").Items, 2)
	require.Len(t, r.list(auth.RoleViewer, "/api/v1/tools?limit=1").Items, 1)
	found := r.list(auth.RoleViewer, "/api/v1/tools?query=send")
	require.Len(t, found.Items, 1)
	require.Equal(t, toolAddress, found.Items[0].Address)
	for _, limit := range []string{"0", "101", "x"} {
		r.as(auth.RoleViewer, http.MethodGet, "/api/v1/tools?limit="+limit, "").requireError(http.StatusBadRequest, "invalid_payload")
	}
	var view struct {
		Address     string
		InputSchema map[string]any
		Annotations struct{ ReadOnlyHint bool }
	}
	r.as(auth.RoleViewer, http.MethodGet, "/api/v1/tools/demo.read", "").requireOK().into(&view)
	require.Equal(t, "object", view.InputSchema["type"])
	require.True(t, view.Annotations.ReadOnlyHint)
	missing := r.as(auth.RoleViewer, http.MethodGet, "/api/v1/tools/demo.sent", "")
	missing.requireError(http.StatusNotFound, "tool_not_found")
	require.Contains(t, string(missing.body), toolAddress, "what is like it is named")
}

func TestAToolThatMayNotBeSeenIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) {
		p.Visible = func(_ approval.Identity, tool catalog.Tool) bool { return tool.Address != toolAddress }
	})
	require.Len(t, r.list(auth.RoleViewer, "/api/v1/tools").Items, 1)
	for _, address := range []string{toolAddress, "demo.sent"} {
		got := r.as(auth.RoleViewer, http.MethodGet, "/api/v1/tools/"+address, "")
		got.requireError(http.StatusNotFound, "tool_not_found")
		require.NotContains(t, string(got.body), toolAddress)
	}
}

func TestASourceThatCannotBeReachedIsTold(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{&executions.UnavailableError{What: "upstream", Err: errInside}, catalog.ErrNotListed} {
		r := newRig(t, func(p *api.Params) { p.Tools = fakeTools{fault: fault} })
		for _, path := range []string{"/api/v1/tools", "/api/v1/tools/demo.read"} {
			r.as(auth.RoleViewer, http.MethodGet, path, "").requireError(http.StatusBadGateway, "upstream_unreachable")
		}
	}
}
