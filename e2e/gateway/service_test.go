package gateway_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// quiet leaves everything to the requests: nothing looks by itself.
var quiet = stack.Options{PollInterval: time.Hour, ProbeInterval: time.Hour}

func TestCase42OneReconcileDeliversOnceAndTellsNoSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	got := r.post(r.server("tools", "/reconcile"), r.config()).ok().document()
	require.Equal(t, "ready", got.Phase)
	require.True(t, got.Usable)
	require.Nil(t, got.FirstFailure)
	require.Equal(t, "ready", got.Delivery.State)
	require.NotEmpty(t, got.Tools.Present)
	require.Len(t, r.engine.Registrations(r.directory), 1)
	require.Equal(t, 1, r.engine.Calls(simulator.RouteRegister, r.directory))
	require.Zero(t, r.endpoint.Streams())

	health := r.get(r.server("tools", "/health")).ok().document()
	require.True(t, health.Usable)
	require.False(t, health.Tools.Direct.Checked)
	probed := r.get(r.server("tools", "/health?probe=1")).ok().document()
	require.True(t, probed.Tools.Direct.Checked)
	var list struct {
		Items      []struct{ Name, State string }
		EngineSync struct{ Status string }
	}
	testkit.Eventually(t, soon, func() bool {
		r.get("/workspace/" + r.workspace + "/mcp").ok().into(&list)
		return len(list.Items) == 1 && list.Items[0].State == "ready"
	}, "the list shows it")
	require.Equal(t, "ok", list.EngineSync.Status)
	var projection struct{ Items []struct{ Name string } }
	r.get("/api/v1/workspaces/" + r.workspace + "/projection").ok().into(&projection)
	require.Len(t, projection.Items, 1)
	var fragment struct {
		MCP map[string]struct {
			URL     string
			Headers map[string]string
		}
	}
	r.get("/api/v1/workspaces/" + r.workspace + "/projection/opencode").ok().into(&fragment)
	require.Equal(t, r.endpoint.URL(), fragment.MCP["tools"].URL)
	require.Equal(t, "{env:HOLDFAST_MCP_TOOLS_AUTHORIZATION}", fragment.MCP["tools"].Headers["Authorization"])
}

func TestAHundredProbesAreOneUpdateOfTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	before := r.updates("tools")
	// The engine takes its time, so that all of them come while the first is under way.
	r.engine.Inject(simulator.RouteStatus, 1, simulator.Fault{Delay: 3 * time.Second})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			a, err := r.try(r.gateway.URL, http.MethodPost, r.connection("tools", "/probe"), nil)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, a.status, string(a.body))
		})
	}
	all.Wait()
	require.Equal(t, before+1, r.updates("tools"))
}

// updates counts the updates that the workflow's current run has carried out.
func (r *rig) updates(name string) int {
	r.TB.Helper()
	events := r.Temporal.GetWorkflowHistory(r.TB.Context(), connection.ID(r.key(name)), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	n := 0
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(r.TB, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED {
			n++
		}
	}
	return n
}

func TestARepairIsSeenAsItHappens(t *testing.T) {
	t.Parallel()
	r := newRig(t, stack.Options{})
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	states := r.follow(ctx, r.connection("tools", "/events"), "")
	require.Equal(t, "ready", <-states)
	r.engine.Dispose(r.directory)
	require.Equal(t, "stale", <-states)
	require.Equal(t, "registering", <-states)
	require.Equal(t, "ready", <-states)
	again := r.follow(ctx, r.connection("tools", "/events"), "1")
	require.NotEmpty(t, <-again, "who comes back gets what was missed")
}

func TestDisableDuringARepairStaysDisabled(t *testing.T) {
	t.Parallel()
	r := newRig(t, stack.Options{})
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	r.engine.Inject(simulator.RouteRegister, 1, simulator.Fault{Delay: 1500 * time.Millisecond})
	r.engine.Dispose(r.directory)
	r.AwaitState(r.key("tools"), delivery.Registering, soon)
	r.post(r.server("tools", "/enabled"), map[string]any{"enabled": false}).ok()
	switchedOff := func() bool {
		d := r.get(r.server("tools", "/health")).ok().document()
		return d.FirstFailure != nil && d.FirstFailure.Code == "cloud_mcp_disabled" && !d.Usable
	}
	testkit.Eventually(t, soon, switchedOff, "it is off")
	r.post(r.connection("tools", "/reconcile"), nil).ok()
	r.post(r.connection("tools", "/probe"), nil)
	require.True(t, switchedOff(), "and stays so")
	r.post(r.connection("tools", "/enable"), nil).ok()
	testkit.Eventually(t, soon, func() bool { return r.get(r.server("tools", "/health")).ok().document().Usable }, "until somebody switches it on")
}

func TestAReloadIsRepairedAndARemovalIsFinal(t *testing.T) {
	t.Parallel()
	r := newRig(t, stack.Options{})
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	before := r.Snapshot(r.key("tools"))
	r.post("/workspace/"+r.workspace+"/engine/reload", nil).ok()
	r.AwaitRepaired(r.key("tools"), before, soon)
	r.call(r.gateway.URL, http.MethodDelete, r.server("tools", ""), nil).ok()
	d, err := r.Connections.Describe(t.Context(), r.key("tools"))
	require.NoError(t, err)
	require.False(t, d.Running)
	gone := r.get(r.server("tools", "/health")).ok().document()
	require.Equal(t, "missing_desired", gone.Phase)
	r.engine.Kill()
	require.NoError(t, r.engine.Restart())
	r.engine.Kill()
	a := r.post("/workspace/"+r.workspace+"/engine/reload", nil)
	require.Equal(t, "opencode_engine_unreachable", a.code(), string(a.body))
}

func TestASharedConfigReachesItsWorkspacesAndIsSwitchedOffForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t, stack.Options{})
	path := "/api/v1/accounts/" + account + "/connections/shared"
	r.put(path, r.config()).ok()
	r.AwaitState(r.key("shared"), delivery.Ready, soon)
	r.post(path+"/disable", nil).ok()
	testkit.Eventually(t, soon, func() bool {
		d := r.get(r.server("shared", "/health")).ok().document()
		return d.FirstFailure != nil && d.FirstFailure.Code == "cloud_mcp_disabled"
	}, "off")
	r.post(path+"/enable", nil).ok()
	r.AwaitState(r.key("shared"), delivery.Ready, soon)
	r.call(r.gateway.URL, http.MethodDelete, path, nil).ok()
	testkit.Eventually(t, soon, func() bool {
		return r.get(r.server("shared", "/health")).ok().document().Phase == "missing_desired"
	}, "wanted no more")
}

func TestRolesHoldOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	owner := r.token
	for role, status := range map[auth.Role]int{auth.RoleViewer: http.StatusForbidden, auth.RoleCollaborator: http.StatusOK} {
		r.token = r.Token(role)
		require.Equal(t, status, r.post(r.server("tools", "/reconcile"), r.config()).status)
		r.get(r.server("tools", "/health")).ok()
	}
	r.token = "hft_0000000000000000_" + owner[21:]
	require.Equal(t, http.StatusUnauthorized, r.get("/api/v1/workspaces").status)
}
