package api_test

import (
	"context"
	"database/sql"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// soon is within what an outage is told in: 2 s by the gateway's own limits, on a machine that runs other tests as well. Whatever
// those limits do not bound waits for 30 s or more.
const soon = 10 * time.Second

// needsTemporal lists the routes that cannot be answered without it.
func needsTemporal(id string) bool {
	switch id {
	case "listWorkspaces", "getWorkspace", "listShared", "listTokens", "createToken", "revokeToken", "getRequest", "getOpenAPI",
		"getLiveness", "getMetrics":
		return false
	case "getSessionExecution", "execute", "getExecutionAnswer", "listExecutions", "countPaused", "getExecution", "listApprovals",
		"getApproval", "listAudit", "listSessions", "getSession", "searchTools", "getTool":
		return false // the store answers; what a call needs is for executions to say
	default:
		return true
	}
}

func (a answer) requireOutage(code string) {
	a.t.Helper()
	a.requireError(http.StatusServiceUnavailable, code)
	require.NotEmpty(a.t, a.header.Get("Retry-After"))
}

func TestWithoutTemporalWhatNeedsItSaysSoAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	for _, route := range api.Routes() {
		if route.Stream {
			continue
		}
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.temporalDown.Store(true)
			asked := time.Now()
			got := r.do(request{method: route.Method, path: sample(route), role: auth.RoleOwner, body: bodies[route.ID]})
			require.Less(t, time.Since(asked), soon)
			if needsTemporal(route.ID) {
				got.requireOutage("temporal_unavailable")
				require.Empty(t, r.connections.sent)
				return
			}
			require.Less(t, got.status, 500, string(got.body))
		})
	}
}

// lame is a store that does not answer until its callers have given up.
type lame struct{ api.Store }

func (l lame) Workspaces(ctx context.Context, _ store.WorkspaceFilter) ([]store.Workspace, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// torn is a store whose database is gone.
type torn struct{ api.Store }

func (torn) Workspaces(context.Context, store.WorkspaceFilter) ([]store.Workspace, error) {
	return nil, errInside
}

func TestAStoreThatIsGoneOrHangsIsToldInTime(t *testing.T) {
	t.Parallel()
	for _, s := range []func(api.Store) api.Store{
		func(s api.Store) api.Store { return torn{s} }, func(s api.Store) api.Store { return lame{s} },
	} {
		r := newRig(t, func(p *api.Params) { p.Store = s(p.Store) })
		r.storeDown.Store(true)
		for _, path := range []string{"/api/v1/workspaces", "/workspace/w1/mcp/own/health", "/api/v1/connections/w1/own"} {
			asked := time.Now()
			got := r.get(path)
			require.Less(t, time.Since(asked), soon)
			got.requireOutage("store_unavailable")
		}
		asked := time.Now()
		r.post(probePath, "").requireOutage("store_unavailable")
		require.Less(t, time.Since(asked), soon)
		require.Empty(t, r.connections.of("probe"))
	}
	r := newRig(t)
	require.NoError(t, r.store.Close())
	r.get("/api/v1/workspaces").requireOutage("store_unavailable")
	r.get("/healthz").requireOK()
	r.storeDown.Store(true)
	testkit.Eventually(t, 5*time.Second, func() bool { return r.get("/readyz").code() == "store_unavailable" }, "not ready")
}

func TestATemporalThatGoesAwayUnderARequestIsToldInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.hold = make(chan struct{})
	defer close(r.connections.hold)
	gone := make(chan time.Time, 1)
	go func() {
		testkit.Poll(t, 10*time.Second, func() bool { return len(r.connections.of("probe")) == 1 })
		gone <- time.Now()
		r.temporalDown.Store(true)
	}()
	got := r.post(probePath, "")
	require.Less(t, time.Since(<-gone), soon)
	got.requireOutage("temporal_unavailable")
	r.get("/readyz").requireOutage("temporal_unavailable")
	r.temporalDown.Store(false)
	testkit.Eventually(t, 5*time.Second, func() bool { return r.get("/readyz").status == http.StatusOK }, "and is taken up again")
}

func TestWhatWorkflowsAnswerIsTranslated(t *testing.T) {
	t.Parallel()
	for fault, want := range map[error]struct {
		status int
		code   string
	}{
		connection.ErrNoWorker: {503, "no_worker"}, connection.ErrBusy: {503, "busy"}, errInside: {503, "temporal_unavailable"},
	} {
		r := newRig(t)
		r.connections.fail(fault)
		for _, path := range []string{"/api/v1/connections/w1/own/projection", "/api/v1/connections/w1/own/transitions"} {
			r.get(path).requireError(want.status, want.code)
		}
		r.post(probePath, "").requireError(want.status, want.code)
		r.post("/api/v1/connections/w1/own/mark-stale", "").requireError(want.status, want.code)
	}
}

func TestADamagedRowIsNamedAsWhatItIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Store = damaged{p.Store} })
	r.get("/workspace/w1/mcp/own/health").requireOK() // which says it in its own words
	r.get("/api/v1/workspaces").requireError(http.StatusInternalServerError, "stored_row_unreadable")
}

// damaged is a store with rows that cannot be opened.
type damaged struct{ api.Store }

func (d damaged) Workspaces(ctx context.Context, f store.WorkspaceFilter) ([]store.Workspace, error) {
	if f.ID == "" {
		return nil, &store.CorruptRowError{Table: "workspace", Cause: errInside}
	}
	return d.Store.Workspaces(ctx, f)
}

func (damaged) Effective(context.Context, store.Key) (store.Effective, error) {
	return store.Effective{}, &store.CorruptRowError{Table: "connection_desired", Cause: errInside}
}

func TestAnErrorOfOursTellsNothingOfTheInside(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(p *api.Params) { p.Store = torn{p.Store} })
	got := r.get("/api/v1/workspaces")
	require.NotContains(t, string(got.body), "/secret/place")
}

func TestACheckOfTheStoreIsNotHeldUpByOneThatHangs(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	check := api.StoreCheck(func(context.Context) error {
		<-hang
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, check(ctx), context.DeadlineExceeded)
	require.Error(t, check(t.Context()), "the next one says so at once")
	close(hang)
	testkit.Eventually(t, 5*time.Second, func() bool { return check(t.Context()) == nil }, "it comes back")
}

func TestAStoreThatAnotherProcessLocksIsToldInTimeAndNothingIsWrittenLater(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	db, err := sql.Open("sqlite", "file:"+r.store.Path()+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	lock, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for _, ask := range []func() answer{
		func() answer { return r.post("/api/v1/connections/w1/own/disable", "") },
		func() answer { return r.do(keyed("/api/v1/connections/w1/own/disable", "k", "")) },
		func() answer {
			return r.do(request{method: http.MethodPut, path: "/api/v1/workspaces/w2", role: auth.RoleOwner, body: `{"directory":"/srv/w2"}`})
		},
		func() answer { return r.get("/readyz") },
	} {
		asked := time.Now()
		got := ask()
		require.Less(t, time.Since(asked), soon)
		got.requireOutage("store_unavailable")
	}
	r.get("/api/v1/workspaces").requireOK()
	require.NoError(t, lock.Rollback())
	testkit.Eventually(t, 5*time.Second, func() bool { return r.get("/readyz").status == http.StatusOK }, "and is taken up again")
	intents, err := r.store.Intents(t.Context(), store.IntentFilter{})
	require.NoError(t, err)
	require.Empty(t, intents)
	require.Empty(t, r.connections.of("ensure"))
	r.do(keyed("/api/v1/connections/w1/own/disable", "k", "")).requireOK()
}
