package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const cloudURL = "https://api.openworklabs.com/mcp/agent"

func TestHealthIsAGoodAnswerAlsoWhereNothingIsWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.get("/workspace/w1/mcp/own/health").requireOK()
	r.get("/workspace/w1/mcp/nothing/health").requireOK()
	r.get("/workspace/w1/mcp/own/health?probe=TRUE&provider=p&model=m").requireOK()
	r.get("/api/v1/connections/w1/own/health?probe=0").requireOK()
	reads := r.diagnosis.reads()
	require.False(t, reads[0].Probe)
	require.True(t, reads[2].Probe)
	require.Equal(t, "p", reads[2].Provider)
	require.False(t, reads[3].Probe)
	r.get("/workspace/w1/mcp/own/health?provider=p").requireError(http.StatusBadRequest, "invalid_payload")
	for _, path := range []string{"/workspace/nobody/mcp/own/health", "/workspace/W1/mcp/own/health", "/workspace/%20/mcp/own/health"} {
		r.get(path).requireError(http.StatusNotFound, "workspace_not_found")
	}
	r.get("/workspace/%20w1%20/mcp/own/health").requireOK()
}

func TestAWorkspaceWithSeveralDirectoriesAsksWhich(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.putWorkspace(workspace, "/srv/other")
	r.get("/workspace/w1/mcp/own/health").requireOK() // wanted in one of them only
	var e struct {
		Details struct{ Directories []string }
	}
	ambiguous := r.get("/workspace/w1/mcp/shared/health")
	ambiguous.requireError(http.StatusConflict, "workspace_directory_ambiguous")
	ambiguous.into(&e)
	require.ElementsMatch(t, []string{directory, "/srv/other"}, e.Details.Directories)
	r.get("/workspace/w1/mcp/shared/health?directory=/srv/other").requireOK()
	r.get("/workspace/w1/mcp/shared/health?directory=/srv/none").requireError(http.StatusNotFound, "workspace_not_found")
}

func TestCase19AConfigMayBeInlineAndHasToBeAnObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inline := `{"type":"remote","url":"` + cloudURL + `/","enabled":true,"oauth":false,"headers":{"Authorization":"Bearer ` + secret + `"},"trigger":"test"}`
	r.post("/workspace/w1/mcp/openwork-cloud/reconcile", inline).requireOK()
	row, err := r.store.Desired(t.Context(), r.key("openwork-cloud"))
	require.NoError(t, err)
	require.Equal(t, cloudURL, row.Config.URL, "case 17: stored without the slash")
	require.Equal(t, "openwork", string(row.Profile))
	require.Equal(t, engineID, row.EngineID)
	require.Equal(t, "test", r.connections.of("reconcile")[0].trigger)
	for _, config := range []string{`[]`, `"text"`, `5`, `true`} {
		r.post("/workspace/w1/mcp/openwork-cloud/reconcile", `{"config":`+config+`}`).requireError(http.StatusBadRequest, "invalid_payload")
	}
	require.Len(t, r.connections.of("reconcile"), 1)
}

func TestAConfigThatBreaksARuleIsNotStoredAndTheHealthSaysWhich(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var health struct {
		Phase        string
		Usable       bool
		FirstFailure struct{ Code, Stage string }

		UsableByCurrentModel *bool
	}
	r.post("/workspace/w1/mcp/openwork-cloud/reconcile",
		`{"config":{"url":"https://api.openworklabs.com/mcp","enabled":true},"provider":"p","model":"m"}`).requireOK().into(&health)
	require.Equal(t, "cloud_endpoint_invalid", health.FirstFailure.Code)
	require.Equal(t, "desired_config", health.FirstFailure.Stage)
	require.Equal(t, "missing_desired", health.Phase)
	require.False(t, health.Usable)
	require.False(t, *health.UsableByCurrentModel)
	_, err := r.store.Desired(t.Context(), r.key("openwork-cloud"))
	require.ErrorIs(t, err, store.ErrNotFound)
	require.Empty(t, r.connections.of("reconcile"))
	require.True(t, r.diagnosis.reads()[0].Probe)
}

func TestAReconcileWithoutAConfigDeliversWhatIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post("/workspace/w1/mcp/own/reconcile", "").requireOK()
	r.post("/workspace/w1/mcp/own/reconcile", `{"config":null,"context":{"provider":"p","model":"m"}}`).requireOK()
	require.Len(t, r.connections.of("reconcile"), 2)
	require.Equal(t, "p", r.diagnosis.reads()[1].Provider)
	require.False(t, r.diagnosis.reads()[1].Probe, "the workflow has just asked the endpoint")
	r.post("/workspace/w1/mcp/nothing/reconcile", "{}").requireOK()
	require.Len(t, r.connections.of("reconcile"), 2)
	require.True(t, r.diagnosis.reads()[2].Probe)
}

func TestTheBodyMustNotContradictThePath(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, verb := range []string{"reconcile", "engine-refresh"} {
		r.post("/workspace/w1/mcp/own/"+verb, `{"workspaceId":"w2"}`).requireError(http.StatusBadRequest, "workspace_id_mismatch")
		r.post("/workspace/w1/mcp/own/"+verb, `{"name":"other"}`).requireError(http.StatusBadRequest, "invalid_mcp_name")
		r.post("/workspace/w1/mcp/own/"+verb, `{"provider":"p"}`).requireError(http.StatusBadRequest, "invalid_payload")
		r.post("/workspace/w1/mcp/own/"+verb, `{"workspaceId":"w1","name":"own"}`).requireOK()
	}
	r.post("/workspace/w1/mcp/%0A/reconcile", `{}`).requireError(http.StatusBadRequest, "invalid_mcp_name")
}

func TestAnUntrustedEndpointNeedsTheOwner(t *testing.T) {
	t.Parallel()
	untrusted := `{"config":{"url":"https://mcp.example.com/mcp","enabled":true}}`
	for _, tc := range []struct{ method, path, body string }{
		{http.MethodPost, "/workspace/w1/mcp/own/reconcile", untrusted},
		{http.MethodPost, "/api/v1/connections/w1/own/reconcile", untrusted},
		{http.MethodPost, "/workspace/w1/mcp", `{"name":"new","config":{"url":"https://mcp.example.com/mcp"}}`},
		{http.MethodPut, "/api/v1/accounts/acme/connections/new", untrusted},
		{
			http.MethodPost, "/workspace/w1/mcp/own/reconcile",
			`{"config":{"url":"http://127.0.0.1:1/mcp","enabled":true},"tokenSource":{"kind":"env","variable":"X"}}`,
		},
	} {
		r := newRig(t)
		r.do(request{method: tc.method, path: tc.path, role: auth.RoleCollaborator, body: tc.body}).requireError(http.StatusForbidden, "forbidden")
		require.Empty(t, r.connections.of("ensure"))
		require.Empty(t, r.connections.of("reconcile"))
		r.do(request{method: tc.method, path: tc.path, role: auth.RoleOwner, body: tc.body}).requireOK()
	}
	r := newRig(t)
	trusted := `{"config":{"url":"http://127.0.0.1:1/mcp","enabled":true},"tokenSource":{"kind":"literal","value":"` + secret + `"}}`
	r.do(request{method: http.MethodPost, path: "/workspace/w1/mcp/own/reconcile", role: auth.RoleCollaborator, body: trusted}).requireOK()
	row, err := r.store.Desired(t.Context(), r.key("own"))
	require.NoError(t, err)
	require.Equal(t, secret, row.TokenSource.Value)
}

func TestCase48RefreshOfWhatIsNotWantedLeavesTheEngineAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got struct {
		Refresh connection.Refresh
		Health  map[string]any
	}
	r.post("/workspace/w1/mcp/nothing/engine-refresh", `{"trigger":" by hand "}`).requireOK().into(&got)
	require.False(t, got.Refresh.Performed)
	require.Equal(t, "desired_missing", got.Refresh.Reason)
	require.Empty(t, got.Refresh.Steps)
	require.Equal(t, "by hand", got.Refresh.Trigger)
	require.Empty(t, r.connections.of("refresh"))
	require.NotEmpty(t, got.Health)
	r.post("/workspace/w1/mcp/own/engine-refresh", "").requireOK().into(&got)
	require.True(t, got.Refresh.Performed)
	require.Len(t, got.Refresh.Steps, 2)
	require.Equal(t, "engine-refresh", r.connections.of("refresh")[0].trigger)
}

func TestCase43AConfigIsStoredAndAnsweredThoughTheEngineIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.ended[connection.ID(r.key("own"))] = true
	r.post("/workspace/w1/mcp/own/reconcile", `{"config":{"url":"http://127.0.0.1:77/mcp","enabled":true,"oauth":false}}`).requireOK()
	row, err := r.store.Desired(t.Context(), r.key("own"))
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:77/mcp", row.Config.URL)
	require.Len(t, r.connections.of("ensure"), 1, "a workflow that does not run is started")
	require.Equal(t, []string{engineID}, r.engines.known)
}

func TestCase49DeleteTakesItOutOfEveryDirectoryAndEndsTheWorkflows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.putWorkspace(workspace, "/srv/other")
	var list struct {
		Items []struct{ Name, Directory string }
	}
	r.do(request{method: http.MethodDelete, path: "/workspace/w1/mcp/shared", role: auth.RoleCollaborator}).requireOK().into(&list)
	require.Len(t, list.Items, 1)
	require.Equal(t, "own", list.Items[0].Name)
	require.Len(t, r.connections.of("remove"), 2)
	effective, err := r.store.Effective(t.Context(), r.key("shared"))
	require.NoError(t, err)
	require.True(t, effective.Removed)
	require.Equal(t, store.IntentRemoved, effective.Intent.Kind)

	r.do(request{method: http.MethodDelete, path: "/workspace/w1/mcp/own", role: auth.RoleCollaborator}).requireOK()
	_, err = r.store.Desired(t.Context(), r.key("own"))
	require.ErrorIs(t, err, store.ErrNotFound)
	r.do(request{method: http.MethodDelete, path: "/workspace/w1/mcp/own", role: auth.RoleCollaborator}).requireOK()
	rows, err := r.store.Intents(t.Context(), store.IntentFilter{Name: "never"})
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestWhatWasRemovedIsWantedAgainByAConfigAndNotBySwitching(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do(request{method: http.MethodDelete, path: "/workspace/w1/mcp/own", role: auth.RoleOwner}).requireOK()
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":true}`).requireError(http.StatusNotFound, "mcp_not_found")
	r.post("/workspace/w1/mcp/own/reconcile", `{"config":{"url":"http://127.0.0.1:1/mcp","enabled":true}}`).requireOK()
	effective, err := r.store.Effective(t.Context(), r.key("own"))
	require.NoError(t, err)
	require.False(t, effective.Removed)
}

func TestWhatSomebodyHasSwitchedOffStaysOffWhoeverSendsAConfig(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var list struct {
		Items []struct {
			Name    string
			Enabled bool
		}
	}
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":false}`).requireOK().into(&list)
	require.False(t, list.Items[0].Enabled)
	require.Equal(t, "disabled", r.connections.of("ensure")[0].trigger)
	r.post("/workspace/w1/mcp/own/reconcile", `{"config":{"url":"http://127.0.0.1:1/mcp","enabled":true}}`).requireOK()
	effective, err := r.store.Effective(t.Context(), r.key("own"))
	require.NoError(t, err)
	require.False(t, *effective.Config.Enabled)
	r.post("/workspace/w1/mcp/own/enabled", `{"enabled":true}`).requireOK().into(&list)
	require.True(t, list.Items[0].Enabled)
	r.post("/workspace/w1/mcp/none/enabled", `{"enabled":true}`).requireError(http.StatusNotFound, "mcp_not_found")
}

func TestTheListShowsWhatIsWantedAndWhetherTheEngineHasIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	failed := snapshotOf(r.key("own"))
	require.NoError(t, json.Unmarshal([]byte(`{"code":"mcp_endpoint_unreachable","stage":"engine_delivery","message":"gone"}`), &failed.Failure))
	failed.State = delivery.Failed
	revision := r.revision("own")
	failed.DesiredRevision = &revision
	r.connections.pages = func(f connection.Filter, _ connection.Page) ([]connection.Listed, string, error) {
		require.Equal(t, workspace, f.Workspace)
		return []connection.Listed{{WorkflowID: connection.ID(r.key("own")), Workspace: workspace, Name: "own", Snapshot: &failed}}, "", nil
	}
	var list struct {
		Items []struct {
			Name, Source, State string
			Config              struct {
				Headers struct{ Keys []string }
			}
		}
		EngineSync struct {
			Status   string
			At       *string
			Failures []struct{ Name, Code string }
		}
	}
	r.get("/workspace/w1/mcp").requireOK().into(&list)
	require.Len(t, list.Items, 2)
	require.Equal(t, "workspace", list.Items[0].Source)
	require.Equal(t, "failed", list.Items[0].State)
	require.Equal(t, []string{"Authorization"}, list.Items[0].Config.Headers.Keys)
	require.Equal(t, "account", list.Items[1].Source)
	require.Equal(t, "failed", list.EngineSync.Status)
	require.NotNil(t, list.EngineSync.At)
	require.Equal(t, "mcp_endpoint_unreachable", list.EngineSync.Failures[0].Code)

	r.post("/workspace/w1/mcp", `{"name":"own","config":{"url":"http://127.0.0.1:6/mcp"}}`).requireOK().into(&list)
	require.Equal(t, "pending", list.Items[0].State, "what was told is of another config")
	require.Equal(t, "ok", list.EngineSync.Status)
}

func TestAddingAServerStoresItAndTellsItsWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post("/workspace/w1/mcp", `{"name":"new","config":{"url":"http://127.0.0.1:5/mcp"}}`).requireOK()
	row, err := r.store.Desired(t.Context(), r.key("new"))
	require.NoError(t, err)
	require.True(t, *row.Config.Enabled)
	require.Equal(t, r.key("new"), r.connections.of("ensure")[0].key)
	r.post("/workspace/w1/mcp", `{"name":"off","config":{"url":"http://127.0.0.1:5/mcp","enabled":false}}`).requireOK()
	var e struct {
		Details struct{ Failure struct{ Code string } }
	}
	broken := r.post("/workspace/w1/mcp", `{"name":"bad","config":{"url":"ftp://127.0.0.1/mcp"}}`)
	broken.requireError(http.StatusBadRequest, "invalid_payload")
	broken.into(&e)
	require.Equal(t, "cloud_endpoint_invalid", e.Details.Failure.Code)
	for _, name := range []string{"openwork-connect-x", "openwork-direct-y"} {
		r.post("/workspace/w1/mcp", `{"name":"`+name+`","config":{"url":"http://127.0.0.1:5/mcp"}}`).requireError(http.StatusConflict, "reserved_mcp_name")
	}
	r.post("/workspace/w1/mcp", `{"config":{"url":"http://127.0.0.1:5/mcp"}}`).requireError(http.StatusBadRequest, "invalid_mcp_name")
	r.post("/workspace/w1/mcp", `{"name":"x","profile":"odd","config":{"url":"http://127.0.0.1:5/mcp"}}`).requireError(http.StatusBadRequest, "invalid_payload")
}

func TestAReloadEndsTheInstanceAndDistrustsAllOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var got struct {
		Reloaded    bool
		Connections []struct {
			Name string
			OK   bool
		}
	}
	r.connections.ended[connection.ID(r.key("shared"))] = true
	r.post("/workspace/w1/engine/reload", "").requireOK().into(&got)
	require.True(t, got.Reloaded)
	require.Equal(t, []string{directory}, r.reload.ended)
	require.Len(t, got.Connections, 2)
	require.Equal(t, "engine_reload", r.connections.of("mark-stale")[0].trigger)
	require.Equal(t, r.key("shared"), r.connections.of("ensure")[0].key)
}

func TestAReloadThatFailsSaysHowAndMarksNothing(t *testing.T) {
	t.Parallel()
	for kind, want := range map[httpclient.Kind]struct {
		status int
		code   string
	}{
		httpclient.KindTimeout: {504, "opencode_reload_timeout"}, httpclient.KindUnreachable: {503, "opencode_engine_unreachable"},
		httpclient.KindStatus: {502, "opencode_reload_failed"}, httpclient.KindMalformed: {502, "opencode_reload_failed"},
	} {
		r := newRig(t)
		r.reload.fault = &httpclient.Error{Op: "dispose", Kind: kind, Cause: errInside}
		r.post("/workspace/w1/engine/reload", "").requireError(want.status, want.code)
		require.Empty(t, r.connections.of("mark-stale"))
	}
	r := newRig(t)
	_, err := r.store.PutWorkspace(t.Context(), store.Workspace{ID: "bare", Directory: "/srv/bare"})
	require.NoError(t, err)
	r.post("/workspace/bare/engine/reload", "").requireError(http.StatusConflict, "opencode_unconfigured")
}
