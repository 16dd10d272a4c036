package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	sharedPath = "/api/v1/accounts/acme/connections/shared"
	ownPath    = "/api/v1/connections/w1/own"
	configBody = `{"config":{"url":"http://127.0.0.1:5/mcp","enabled":true}}`
)

// gateways are several of them on one store.
func (r *rig) gateways(n int) []string {
	urls := []string{r.server.URL}
	for range n - 1 {
		r.start()
		urls = append(urls, r.server.URL)
	}
	return urls
}

// at is raw at one of several gateways.
func (r *rig) at(url string, q request) answer {
	return r.of(url).raw(q)
}

// of is the rig as one of several gateways.
func (r *rig) of(url string) *rig {
	return &rig{t: r.t, server: &httptest.Server{URL: url}, tokens: r.tokens}
}

func TestOneKeyIsCarriedOutByOneOfManyCallersAndGateways(t *testing.T) {
	t.Parallel()
	for _, q := range []request{
		keyed("/workspace/w1/mcp/own/reconcile", "k", configBody), keyed(ownPath+"/disable", "k", ""), keyed(probePath, "k", ""),
		{method: http.MethodPut, path: sharedPath, role: auth.RoleOwner, body: configBody, header: map[string]string{"Idempotency-Key": "k"}},
	} {
		r := newRig(t)
		urls := r.gateways(3)
		answers := make([]answer, 30)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = r.of(urls[i%len(urls)]).patiently(q) })
		}
		all.Wait()
		fresh := 0
		for _, a := range answers {
			require.Equal(t, http.StatusOK, a.status, string(a.body))
			require.JSONEq(t, string(answers[0].body), string(a.body))
			if a.header.Get("Idempotent-Replayed") == "" {
				fresh++
			}
		}
		require.Equal(t, 1, fresh)
		require.LessOrEqual(t, len(r.connections.of("reconcile")), 1)
		require.LessOrEqual(t, len(r.connections.of("probe")), 1)
		intents, err := r.store.Intents(t.Context(), store.IntentFilter{})
		require.NoError(t, err)
		for _, intent := range intents {
			require.Equal(t, int64(1), intent.Revision, "it was written once")
		}
	}
}

func TestAnotherGatewayWaitsForTheOneThatWorksAndTakesOverOneThatDied(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := keyed(probePath, "k", "")
	_, _, err := r.store.BeginRequest(t.Context(), store.Request{
		ID: "r", Principal: r.principal(auth.RoleOwner), Key: "k", Kind: "other", Holder: "gone", Until: time.Now().Add(time.Hour),
	})
	require.NoError(t, err)
	r.do(q).requireError(http.StatusConflict, "idempotency_key_reused")

	r = newRig(t)
	r.connections.hold = make(chan struct{})
	urls := r.gateways(2)
	first := make(chan answer, 1)
	go func() { first <- r.at(urls[0], q) }()
	testkit.Eventually(t, 10*time.Second, func() bool { return len(r.connections.of("probe")) == 1 }, "it is under way")
	second := make(chan answer, 1)
	go func() { second <- r.at(urls[1], q) }()
	later := r.at(urls[1], keyed(probePath, "k", "", "Prefer", "respond-async, wait=1"))
	require.Equal(t, http.StatusAccepted, later.status)
	select {
	case <-second:
		require.Fail(t, "it has answered before there was a result")
	default:
	}
	close(r.connections.hold)
	require.Equal(t, string((<-first).body), string((<-second).body))
	require.Len(t, r.connections.of("probe"), 1)
}

func TestAClaimThatIsNotRenewedIsTakenOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.fail(connection.ErrBusy)
	r.do(keyed(probePath, "k", "")).requireError(http.StatusServiceUnavailable, "busy")
	r.connections.fail(nil)
	id := r.onlyRequest()
	now := time.Now()
	_, claimed, err := r.store.ClaimRequest(t.Context(), id, "gone", now, now.Add(time.Second))
	require.NoError(t, err)
	require.True(t, claimed)
	r.do(keyed(probePath, "k", "")).requireOK()
	require.GreaterOrEqual(t, time.Since(now), time.Second)
	require.Len(t, r.connections.of("probe"), 1)
}

func TestWhatWasDecidedUnderAKeyIsNotDecidedAgain(t *testing.T) {
	t.Parallel()
	for path, undo := range map[string]string{ownPath + "/disable": ownPath + "/enable", sharedPath + "/disable": sharedPath + "/enable"} {
		r := newRig(t)
		r.connections.fail(connection.ErrBusy) // the intent is stored, and cannot be told
		first := r.do(keyed(path, "k", ""))
		if first.status != http.StatusOK { // an account tells what became of each
			first.requireError(http.StatusServiceUnavailable, "busy")
		}
		r.connections.fail(nil)
		r.post(undo, "").requireOK()
		var got struct {
			Intent struct {
				Kind       string
				Superseded bool
			}
		}
		r.do(keyed(path, "k", "")).requireOK().into(&got)
		require.Equal(t, "disabled", got.Intent.Kind)
		require.Equal(t, first.status != http.StatusOK, got.Intent.Superseded)
		intents, err := r.store.Intents(t.Context(), store.IntentFilter{})
		require.NoError(t, err)
		require.Len(t, intents, 1)
		require.Equal(t, store.IntentEnabled, intents[0].Kind, "the last word stays")
	}
}

func TestARemovalThatFailedHalfwayGoesOnUnderItsKey(t *testing.T) {
	t.Parallel()
	remove := func(path, method string) request {
		q := keyed(path, "k", "")
		q.method = method
		return q
	}
	for _, q := range []request{
		remove(ownPath+"/remove", http.MethodPost), remove("/workspace/w1/mcp/own", http.MethodDelete),
		remove("/api/v1/workspaces/w1", http.MethodDelete),
	} {
		r := newRig(t)
		r.connections.failing("remove", errors.New("cut"))
		r.do(q).requireError(http.StatusServiceUnavailable, "temporal_unavailable")
		r.connections.failing("remove", nil)
		r.do(q).requireOK()
		require.NotEmpty(t, r.connections.of("remove"))
		_, err := r.store.Effective(t.Context(), r.key("own"))
		require.ErrorIs(t, err, store.ErrNotFound)
		again := r.do(q).requireOK()
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	}
	r := newRig(t, func(p *api.Params) { p.Store = &stumbling{Store: p.Store} })
	q := remove(sharedPath, http.MethodDelete)
	r.do(q).requireError(http.StatusServiceUnavailable, "store_unavailable")
	r.do(q).requireOK()
	r.post(sharedPath+"/disable", "").requireError(http.StatusNotFound, "connection_not_found")
}

// stumbling is a store that fails once, after a shared config was taken away.
type stumbling struct {
	api.Store

	once sync.Once
}

func (s *stumbling) DeleteAccountDesired(ctx context.Context, account, name string) (bool, error) {
	existed, err := s.Store.DeleteAccountDesired(ctx, account, name)
	s.once.Do(func() { err = errInside })
	return existed, err
}

func TestARemovalThatIsRepeatedLeavesAloneWhatIsWantedAnew(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		r := newRig(t)
		q := keyed(ownPath+"/remove", "k", "")
		if method == http.MethodDelete {
			q = keyed("/api/v1/workspaces/w1", "k", "")
			q.method = method
		}
		r.connections.failing("remove", errors.New("cut"))
		r.do(q).requireError(http.StatusServiceUnavailable, "temporal_unavailable")
		r.connections.failing("remove", nil)
		r.do(request{method: http.MethodPut, path: "/api/v1/workspaces/w1", role: auth.RoleOwner, body: `{"directory":"/srv/w1","engine":"engine-1","account":"acme"}`}).requireOK()
		r.post("/workspace/w1/mcp/own/reconcile", configBody).requireOK()
		r.do(q).requireOK()
		require.Empty(t, r.connections.of("remove"))
		got, err := r.store.Effective(t.Context(), r.key("own"))
		require.NoError(t, err)
		require.False(t, got.Removed)
		require.Equal(t, "http://127.0.0.1:5/mcp", got.Config.URL)
	}
}

func TestAConfigThatIsRepeatedDoesNotReplaceALaterOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	url := func() string {
		got, err := r.store.Effective(t.Context(), r.key("own"))
		require.NoError(t, err)
		return got.Config.URL
	}
	other := `{"config":{"url":"http://127.0.0.1:6/mcp","enabled":true}}`
	path := "/workspace/w1/mcp/own/reconcile"
	r.connections.failing("reconcile", connection.ErrBusy)
	r.do(keyed(path, "k", configBody)).requireError(http.StatusServiceUnavailable, "busy")
	require.Equal(t, "http://127.0.0.1:5/mcp", url())
	r.connections.failing("reconcile", nil)
	r.do(keyed(path, "k", configBody)).requireOK()

	r.connections.failing("reconcile", connection.ErrBusy)
	r.do(keyed(path, "l", configBody)).requireError(http.StatusServiceUnavailable, "busy")
	r.connections.failing("reconcile", nil)
	r.do(keyed(path, "m", other)).requireOK()
	r.do(keyed(path, "l", configBody)).requireError(http.StatusConflict, "intent_changed")
	require.Equal(t, "http://127.0.0.1:6/mcp", url())

	r.connections.failing("reconcile", connection.ErrBusy)
	r.do(keyed(path, "n", configBody)).requireError(http.StatusServiceUnavailable, "busy")
	r.connections.failing("reconcile", nil)
	r.post(ownPath+"/remove", "").requireOK()
	r.do(keyed(path, "n", configBody)).requireError(http.StatusConflict, "intent_changed")
	_, err := r.store.Effective(t.Context(), r.key("own"))
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAFailureThatPassesIsToldAndTheSameKeyTriesAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.fail(connection.ErrNoWorker)
	later := keyed(probePath, "k", "", "Prefer", "respond-async")
	location := r.do(later).header.Get("Location")
	var view struct {
		Status    string
		Repeat    bool
		StartedAt time.Time
		Error     struct{ Code string }
	}
	testkit.Eventually(t, 10*time.Second, func() bool {
		r.get(location).requireOK().into(&view)
		return view.Status == "failed"
	}, "failed")
	require.Equal(t, "no_worker", view.Error.Code)
	require.True(t, view.Repeat)
	started := view.StartedAt
	r.connections.fail(nil)
	r.connections.hold = make(chan struct{})
	require.Equal(t, location, r.do(later).header.Get("Location"))
	view.Repeat = false
	r.get(location).requireOK().into(&view)
	require.Equal(t, "pending", view.Status)
	require.True(t, view.StartedAt.After(started))
	close(r.connections.hold)
	testkit.Eventually(t, 10*time.Second, func() bool {
		r.get(location).requireOK().into(&view)
		return view.Status == "done"
	}, "done")
}

func TestWithoutAWorkerARemovalIsRefusedBeforeAnythingIsNoted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.failing("snapshot", connection.ErrNoWorker)
	for _, q := range []request{
		keyed(ownPath+"/remove", "", ""),
		keyed(ownPath+"/refresh", "", ""),
		{method: http.MethodDelete, path: "/workspace/w1/mcp/own", role: auth.RoleOwner},
		{method: http.MethodDelete, path: "/api/v1/workspaces/w1", role: auth.RoleOwner},
	} {
		r.do(q).requireError(http.StatusServiceUnavailable, "no_worker")
	}
	require.Empty(t, r.connections.of("remove"))
	got, err := r.store.Effective(t.Context(), r.key("own"))
	require.NoError(t, err)
	require.False(t, got.Removed)
}

func TestAnOperationThatCannotBeginIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 2 {
		asked := time.Now()
		r.do(keyed("/api/v1/connections/w1/none/probe", "k", "")).requireError(http.StatusNotFound, "connection_not_found")
		require.Less(t, time.Since(asked), soon)
	}
	enabled := true
	_, err := r.store.PutDesired(t.Context(), store.Desired{
		Key: delivery.Key{Workspace: workspace, Name: "none", Directory: directory}, EngineID: engineID, Profile: domain.ProfileGeneric,
		Config: domain.Config{Type: "remote", URL: "http://127.0.0.1:5/mcp", Enabled: &enabled}, Metadata: domain.DefaultMetadata(),
	})
	require.NoError(t, err)
	r.do(keyed("/api/v1/connections/w1/none/probe", "k", "")).requireOK()
}

func TestManyConnectionsWithoutAWorkerAreToldInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 40 {
		_, err := r.store.PutAccountDesired(t.Context(), store.AccountDesired{
			Account: account, Name: fmt.Sprint("s", i), Profile: domain.ProfileGeneric, Metadata: domain.DefaultMetadata(),
		})
		require.NoError(t, err)
	}
	r.connections.mu.Lock()
	r.connections.deaf = true
	r.connections.mu.Unlock()
	for _, q := range []request{
		{method: http.MethodGet, path: "/api/v1/workspaces/w1/projection", role: auth.RoleOwner},
		{method: http.MethodDelete, path: "/api/v1/workspaces/w1", role: auth.RoleOwner},
		{method: http.MethodGet, path: ownPath + "/transitions", role: auth.RoleOwner},
	} {
		asked := time.Now()
		r.do(q).requireError(http.StatusServiceUnavailable, "no_worker")
		require.Less(t, time.Since(asked), soon)
	}
}
