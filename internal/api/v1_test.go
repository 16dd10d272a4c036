package api_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestAPageOfAThousandConnectionsCostsOneVisibilityCall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.pages = func(f connection.Filter, p connection.Page) ([]connection.Listed, string, error) {
		require.Equal(t, connection.Filter{State: delivery.Stale, FailureCode: "x", Workspace: "w", Name: "n", Engine: "e"}, f)
		require.Equal(t, "t1", p.Token)
		rows := make([]connection.Listed, p.Size)
		for i := range rows {
			key := delivery.Key{Workspace: "w", Name: fmt.Sprint(i), Directory: "/d"}
			snapshot := snapshotOf(key)
			rows[i] = connection.Listed{WorkflowID: connection.ID(key), RunID: "r", Workspace: "w", Name: key.Name, StartedAt: time.Now(), Snapshot: &snapshot}
		}
		return rows, "t2", nil
	}
	var page struct {
		Items []struct {
			Workspace, Name, Directory, State, WorkflowID string
			Since                                         *time.Time
		}
		NextPageToken string
	}
	r.get("/api/v1/connections?state=stale&failureCode=x&workspace=w&name=n&engine=e&pageToken=t1").requireOK().into(&page)
	require.Len(t, page.Items, 100)
	require.Equal(t, "t2", page.NextPageToken)
	require.Equal(t, "/d", page.Items[7].Directory)
	require.Equal(t, 1, r.connections.lists)
	require.Empty(t, r.connections.of("describe"))
	r.get("/api/v1/connections?state=stale&failureCode=x&workspace=w&name=n&engine=e&pageToken=t1&pageSize=7").requireOK().into(&page)
	require.Len(t, page.Items, 7)
	for _, query := range []string{"pageSize=0", "pageSize=101", "pageSize=x", "state=fine"} {
		r.get("/api/v1/connections?"+query).requireError(http.StatusBadRequest, "invalid_payload")
	}
	r.connections.pages = func(connection.Filter, connection.Page) ([]connection.Listed, string, error) {
		return nil, "", connection.ErrBadPage
	}
	r.get("/api/v1/connections?pageToken=odd").requireError(http.StatusBadRequest, "invalid_payload")
}

func TestOneConnectionIsReadWithNoWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var view struct {
		State, Account, WorkflowID string
		Wanted, Running            bool
		Intent                     *struct{ Kind, By string }
	}
	r.get("/api/v1/connections/w1/shared").requireOK().into(&view)
	require.Equal(t, account, view.Account)
	require.True(t, view.Wanted && view.Running)
	require.Equal(t, "ready", view.State)
	require.Empty(t, r.connections.of("snapshot"))
	r.post("/api/v1/connections/w1/shared/disable", `{"reason":"night"}`).requireOK()
	r.get("/api/v1/connections/w1/shared").requireOK().into(&view)
	require.Equal(t, "disabled", view.Intent.Kind)
	require.Equal(t, r.principal(auth.RoleOwner), view.Intent.By)
	r.connections.ended[connection.ID(r.key("own"))] = true
	r.get("/api/v1/connections/w1/own").requireOK().into(&view)
	require.False(t, view.Running)
	r.connections.ended[connection.ID(r.key("none"))] = true
	r.get("/api/v1/connections/w1/none").requireError(http.StatusNotFound, "connection_not_found")
	r.post("/api/v1/connections/w1/none/probe", "").requireError(http.StatusNotFound, "connection_not_found")
	r.post("/api/v1/connections/w1/none/disable", "").requireError(http.StatusNotFound, "connection_not_found")
}

func TestOperationsReachTheWorkflow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.post("/api/v1/connections/w1/own/probe", `{"trigger":"why"}`).requireOK()
	require.Equal(t, "why", r.connections.of("probe")[0].trigger)
	r.post("/api/v1/connections/w1/own/refresh", "").requireOK()
	require.Len(t, r.connections.of("refresh"), 1)
	r.post("/api/v1/connections/w1/own/mark-stale", `{"reason":"doubt"}`).requireOK()
	require.Equal(t, "doubt", r.connections.of("mark-stale")[0].trigger)
	r.post("/api/v1/connections/w1/own/reconcile", `{"config":{"url":"http://127.0.0.1:1/mcp","enabled":true}}`).requireOK()
	require.Len(t, r.connections.of("reconcile"), 1)
	r.post("/api/v1/connections/w1/own/enable", "").requireOK()
	r.post("/api/v1/connections/w1/own/remove?directory=/srv/w1", "").requireOK()
	require.Len(t, r.connections.of("remove"), 1)
	r.putWorkspace(workspace, "/srv/other")
	r.post("/api/v1/connections/w1/shared/remove?directory=/srv/other", "").requireError(http.StatusBadRequest, "invalid_payload")
}

func TestWorkspacesAreKeptAndTheirConnectionsFollow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var list struct {
		Items []struct{ ID, Directory, Engine, Account string }
	}
	r.get("/api/v1/workspaces").requireOK().into(&list)
	require.Len(t, list.Items, 1)
	put := func(path, body string) answer {
		return r.do(request{method: http.MethodPut, path: path, role: auth.RoleOwner, body: body})
	}
	var change struct {
		Changed     bool
		Connections []struct{ Name string }
	}
	put("/api/v1/workspaces/w2", `{"directory":"/srv/w2","engine":"engine-1","account":"acme"}`).requireOK().into(&change)
	require.True(t, change.Changed)
	require.Len(t, change.Connections, 1, "the account's shared config reaches the new workspace")
	require.Equal(t, delivery.Key{Workspace: "w2", Name: "shared", Directory: "/srv/w2"}, r.connections.of("ensure")[0].key)
	r.get("/api/v1/workspaces/w2").requireOK().into(&list)
	require.Equal(t, account, list.Items[0].Account)
	r.get("/api/v1/workspaces?account=other").requireOK().into(&list)
	require.Empty(t, list.Items)
	put("/api/v1/workspaces/w3", `{"directory":"/srv/w3","engine":"unknown"}`).requireError(http.StatusBadRequest, "invalid_payload")
	put("/api/v1/workspaces/w3", `{"directory":"relative","engine":"engine-1"}`).requireError(http.StatusBadRequest, "invalid_payload")
	put("/api/v1/workspaces/w3", `{"directory":"/srv//w3","engine":"engine-1"}`).requireError(http.StatusBadRequest, "invalid_payload")
	put("/api/v1/workspaces/w3", `{"folder":"/srv/w3"}`).requireError(http.StatusBadRequest, "invalid_payload")
	r.do(request{method: http.MethodDelete, path: "/api/v1/workspaces/w2", role: auth.RoleOwner}).requireOK()
	require.Len(t, r.connections.of("remove"), 1)
	r.get("/api/v1/workspaces/w2").requireError(http.StatusNotFound, "workspace_not_found")
	r.do(request{method: http.MethodDelete, path: "/api/v1/workspaces/w1", role: auth.RoleOwner}).requireOK()
	r.get("/api/v1/workspaces/w1").requireError(http.StatusNotFound, "workspace_not_found")
}

func TestASharedConfigReachesEveryWorkspaceOfItsAccount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 20 {
		r.putWorkspace(fmt.Sprintf("more%d", i), fmt.Sprintf("/srv/more%d", i))
	}
	lost := delivery.Key{Workspace: "more3", Name: "new", Directory: "/srv/more3"}
	var change struct {
		Changed    bool
		Intent     *struct{ Kind string }
		Workspaces []struct {
			Workspace string
			OK        bool
		}
	}
	put := request{
		method: http.MethodPut, path: "/api/v1/accounts/acme/connections/new", role: auth.RoleCollaborator,
		body: `{"config":{"url":"http://127.0.0.1:9/mcp","headers":{"Authorization":"Bearer ` + secret + `"}}}`,
	}
	r.do(put).requireOK().into(&change)
	require.True(t, change.Changed)
	require.Len(t, change.Workspaces, 21)
	require.Len(t, r.connections.of("ensure"), 21)
	effective, err := r.store.Effective(t.Context(), lost)
	require.NoError(t, err)
	require.True(t, effective.Shared)
	r.do(put).requireOK().into(&change)
	require.False(t, change.Changed)

	path := "/api/v1/accounts/acme/connections/new"
	r.post(path+"/disable", "").requireOK().into(&change)
	require.Equal(t, "disabled", change.Intent.Kind)
	effective, err = r.store.Effective(t.Context(), lost)
	require.NoError(t, err)
	require.False(t, *effective.Config.Enabled)
	r.post(path+"/enable", "").requireOK()
	var list struct {
		Items []struct {
			Name   string
			Intent *struct{ Kind string }
		}
	}
	r.get("/api/v1/accounts/acme/connections").requireOK().into(&list)
	require.Len(t, list.Items, 2)
	require.Equal(t, "enabled", list.Items[0].Intent.Kind)

	r.do(request{method: http.MethodDelete, path: path, role: auth.RoleCollaborator}).requireOK()
	_, err = r.store.Effective(t.Context(), lost)
	require.ErrorIs(t, err, store.ErrNotFound)
	r.do(request{method: http.MethodDelete, path: path, role: auth.RoleCollaborator}).requireError(http.StatusNotFound, "connection_not_found")
	r.post(path+"/enable", "").requireError(http.StatusNotFound, "connection_not_found")
	r.do(put).requireOK()
	effective, err = r.store.Effective(t.Context(), lost)
	require.NoError(t, err)
	require.False(t, effective.Removed, "put again, it is wanted again")
	bad := put
	bad.body = `{"config":{"url":"nowhere"}}`
	r.do(bad).requireError(http.StatusBadRequest, "invalid_payload")
	bad.path = "/api/v1/accounts/acme/connections/%0A"
	r.do(bad).requireError(http.StatusBadRequest, "invalid_mcp_name")
}

func TestAReconcileOfASharedConfigChangesItForAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.putWorkspace("w2", "/srv/w2")
	r.post("/workspace/w1/mcp/shared/reconcile", `{"config":{"url":"http://127.0.0.1:8/mcp","enabled":true}}`).requireOK()
	row, err := r.store.AccountDesired(t.Context(), account, "shared")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:8/mcp", row.Config.URL)
	told := r.connections.of("ensure")
	require.Len(t, told, 1)
	require.Equal(t, "w2", told[0].key.Workspace)
	require.Equal(t, r.key("shared"), r.connections.of("reconcile")[0].key)
}

func TestTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var made struct{ ID, Token, Role, ExpiresAt, CreatedBy string }
	got := r.post("/api/v1/tokens", `{"name":"ci","role":"viewer","expiresIn":"720h"}`)
	require.Equal(t, http.StatusCreated, got.status)
	got.into(&made)
	require.Equal(t, r.principal(auth.RoleOwner), made.CreatedBy)
	r.tokens["new"] = made.Token
	r.do(request{method: http.MethodGet, path: "/api/v1/workspaces", role: "new"}).requireOK()
	list := r.get("/api/v1/tokens").requireOK()
	require.NotContains(t, string(list.body), strings.SplitN(made.Token, "_", 3)[2])
	require.Contains(t, string(list.body), made.ID)
	r.do(request{method: http.MethodDelete, path: "/api/v1/tokens/" + made.ID, role: auth.RoleOwner}).requireOK()
	r.do(request{method: http.MethodGet, path: "/api/v1/workspaces", role: "new"}).requireError(http.StatusUnauthorized, "unauthorized")
	r.do(request{method: http.MethodDelete, path: "/api/v1/tokens/0", role: auth.RoleOwner}).requireError(http.StatusNotFound, "token_not_found")
	for _, body := range []string{`{}`, `{"name":"x","role":"root"}`, `{"name":"x","role":"viewer","expiresIn":"soon"}`, `{"name":"x","role":"viewer","expiresIn":"-1h"}`} {
		r.post("/api/v1/tokens", body).requireError(http.StatusBadRequest, "invalid_payload")
	}
}

func TestOnlyWhatIsProvenIsProjected(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var list struct {
		Items []struct{ Name, Revision string }
	}
	r.get("/api/v1/workspaces/w1/projection").requireOK().into(&list)
	require.Empty(t, list.Items)
	revision := "some other one"
	r.connections.ready[connection.ID(r.key("own"))] = connection.Projection{Usable: true, Name: "own", Revision: revision, Tools: []string{"echo"}}
	r.get("/api/v1/workspaces/w1/projection").requireOK().into(&list)
	require.Equal(t, "own", list.Items[0].Name)
	require.Len(t, list.Items, 1)
	var one struct{ Usable bool }
	r.get("/api/v1/connections/w1/own/projection").requireOK().into(&one)
	require.True(t, one.Usable)

	var fragment struct {
		MCP map[string]struct {
			Type, URL string
			Enabled   bool
			Timeout   int
			Headers   map[string]string
			OAuth     *bool
		}
	}
	r.get("/api/v1/workspaces/w1/projection/opencode").requireOK().into(&fragment)
	require.Empty(t, fragment.MCP, "the revision that is usable is not the one that is wanted")
	r.connections.ready[connection.ID(r.key("own"))] = connection.Projection{Usable: true, Name: "own", Revision: r.revision("own")}
	r.get("/api/v1/workspaces/w1/projection/opencode").requireOK().into(&fragment)
	require.Len(t, fragment.MCP, 1)
	got := fragment.MCP["own"]
	require.Equal(t, "remote", got.Type)
	require.Equal(t, "http://127.0.0.1:3001/mcp", got.URL)
	require.True(t, got.Enabled)
	require.Equal(t, 5000, got.Timeout)
	require.Equal(t, map[string]string{"Authorization": "{env:HOLDFAST_MCP_OWN_AUTHORIZATION}"}, got.Headers)
	require.False(t, *got.OAuth)
	r.connections.fail(connection.ErrNoWorker)
	r.get("/api/v1/workspaces/w1/projection").requireError(http.StatusServiceUnavailable, "no_worker")
}

func TestTransitionsAreListed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.move(r.key("own"), delivery.Registering)
	r.connections.move(r.key("own"), delivery.Ready)
	var list struct{ Items []connection.Transition }
	r.get("/api/v1/connections/w1/own/transitions").requireOK().into(&list)
	require.Len(t, list.Items, 2)
	require.Equal(t, delivery.Ready, list.Items[1].To)
}

func TestAConsumerNeverSeesWhatIsNotProvenWhateverHappensInBetween(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"own", "shared"}
	proven := map[string]bool{}
	for range 100 {
		name := names[random.IntN(len(names))]
		proven[name] = random.IntN(2) == 0
		projection := connection.Projection{}
		if proven[name] {
			projection = connection.Projection{Usable: true, Name: name, Revision: r.revision(name)}
		}
		r.connections.prove(r.key(name), projection)
		var one struct{ Usable bool }
		r.read("/api/v1/connections/w1/"+name+"/projection", &one)
		require.Equal(t, proven[name], one.Usable)
		var list struct{ Items []struct{ Name string } }
		r.read("/api/v1/workspaces/w1/projection", &list)
		var fragment struct{ MCP map[string]any }
		r.read("/api/v1/workspaces/w1/projection/opencode", &fragment)
		for _, name := range names {
			_, configured := fragment.MCP[name]
			require.Equal(t, proven[name], configured)
			require.Equal(t, proven[name], slices.ContainsFunc(list.Items, func(i struct{ Name string }) bool { return i.Name == name }))
		}
	}
}

// read reads without holding the answer to the document, which other tests do.
func (r *rig) read(path string, into any) {
	r.t.Helper()
	r.raw(request{method: http.MethodGet, path: path, role: auth.RoleViewer}).requireOK().into(into)
}

func (f *fakeConnections) prove(key delivery.Key, p connection.Projection) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = nil
	f.ready[connection.ID(key)] = p
}
