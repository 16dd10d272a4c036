package api_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/api"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const probePath = "/api/v1/connections/w1/own/probe"

// keyed is a request under a key.
func keyed(path, key, body string, more ...string) request {
	header := map[string]string{"Idempotency-Key": key}
	for i := 0; i+1 < len(more); i += 2 {
		header[more[i]] = more[i+1]
	}
	return request{method: http.MethodPost, path: path, role: auth.RoleOwner, body: body, header: header}
}

func TestAHundredProbesAtOnceAreOneUpdateAndOneAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.hold = make(chan struct{})
	answers := make([]answer, 100)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			answers[i] = r.patiently(request{method: http.MethodPost, path: probePath, role: auth.RoleOwner})
		})
	}
	testkit.Eventually(t, time.Minute, func() bool { return len(r.connections.of("probe")) == 1 }, "one update is sent")
	// Whoever is not there yet joins the same one while it is held.
	testkit.Eventually(t, time.Minute, func() bool { return r.api.Waiting() == len(answers) }, "all wait")
	close(r.connections.hold)
	all.Wait()
	for _, a := range answers {
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, answers[0].body, a.body)
	}
	require.Len(t, r.connections.of("probe"), 1)
	require.Len(t, r.diagnosis.reads(), 1)
	r.post(probePath, "").requireOK()
	require.Len(t, r.connections.of("probe"), 2, "a later one is another")
}

func TestProbesForDifferentModelsShareTheUpdate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.hold = make(chan struct{})
	var all sync.WaitGroup
	for _, body := range []string{`{}`, `{"provider":"p","model":"m"}`, `{"provider":"p","model":"n"}`} {
		all.Go(func() { require.Equal(t, http.StatusOK, r.patiently(keyed(probePath, "", body)).status) })
	}
	testkit.Eventually(t, time.Minute, func() bool { return r.api.Sharing() == 3 && len(r.connections.of("probe")) == 1 }, "all wait")
	close(r.connections.hold)
	all.Wait()
	require.Len(t, r.connections.of("probe"), 1)
	require.Len(t, r.diagnosis.reads(), 3)
}

func TestTheSameRequestUnderTheSameKeyIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"config":{"url":"http://127.0.0.1:5/mcp","enabled":true},"trigger":"a"}`
	first := r.do(keyed("/workspace/w1/mcp/own/reconcile", "key-1", body)).requireOK()
	require.Empty(t, first.header.Get("Idempotent-Replayed"))
	again := r.do(keyed("/workspace/w1/mcp/own/reconcile", "key-1", body)).requireOK()
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.JSONEq(t, string(first.body), string(again.body))
	require.Len(t, r.connections.of("reconcile"), 1)
	r.do(keyed("/workspace/w1/mcp/own/reconcile", "key-1", strings.Replace(body, `"a"`, `"b"`, 1))).
		requireError(http.StatusConflict, "idempotency_key_reused")
	r.do(keyed(probePath, "key-1", body)).requireError(http.StatusConflict, "idempotency_key_reused")
	other := r.raw(request{
		method: http.MethodPost, path: "/workspace/w1/mcp/own/reconcile", role: auth.RoleCollaborator, body: body,
		header: map[string]string{"Idempotency-Key": "key-1"},
	})
	require.Equal(t, http.StatusOK, other.status)
	require.Empty(t, other.header.Get("Idempotent-Replayed"), "a key belongs to who sent it")
	r.do(keyed(probePath, strings.Repeat("k", 201), "")).requireError(http.StatusBadRequest, "invalid_payload")
}

func TestARemovalIsReplayedThoughTheConnectionIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.do(keyed("/api/v1/connections/w1/own/remove", "k", "")).requireOK()
	again := r.do(keyed("/api/v1/connections/w1/own/remove", "k", "")).requireOK()
	require.JSONEq(t, string(first.body), string(again.body))
	r.post("/api/v1/connections/w1/own/remove", "").requireError(http.StatusNotFound, "connection_not_found")
}

func TestAGatewayThatDiesIsReplacedByOneThatFinishesUnderTheSameUpdate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.hold = make(chan struct{})
	dying := r.server.URL
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, dying+probePath, nil)
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer "+r.tokens[auth.RoleOwner])
		req.Header.Set("Idempotency-Key", "k")
		if res, err := (&http.Client{}).Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	testkit.Eventually(t, 10*time.Second, func() bool { return len(r.connections.of("probe")) == 1 }, "the update is under way")
	r.api.Close() // nothing of it is kept, as after a kill
	<-gone
	rows, err := r.store.Request(t.Context(), r.onlyRequest())
	require.NoError(t, err)
	require.True(t, rows.FinishedAt.IsZero())
	close(r.connections.hold)
	r.start()
	got := r.do(keyed(probePath, "k", "")).requireOK()
	require.Equal(t, "true", got.header.Get("Idempotent-Replayed"))
	probes := r.connections.of("probe")
	require.Len(t, probes, 2)
	require.Equal(t, probes[0].id, probes[1].id, "the workflow answers an equal id once")
}

// onlyRequest is the id of the one request that was noted.
func (r *rig) onlyRequest() string {
	r.t.Helper()
	row, fresh, err := r.store.BeginRequest(r.t.Context(), store.Request{ID: "probe", Principal: r.principal(auth.RoleOwner), Key: "k", Kind: "x"})
	require.NoError(r.t, err)
	require.False(r.t, fresh)
	return row.ID
}

func (r *rig) principal(role auth.Role) string {
	return "token:" + strings.Split(r.tokens[role], "_")[1]
}

func TestWhatIsAnsweredLaterCanBeReadByItsID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.hold = make(chan struct{})
	got := r.do(keyed(probePath, "", "", "Prefer", "respond-async"))
	require.Equal(t, http.StatusAccepted, got.status)
	require.Equal(t, "respond-async", got.header.Get("Preference-Applied"))
	location := got.header.Get("Location")
	require.Regexp(t, `^/api/v1/requests/[0-9a-f]{32}$`, location)
	var view struct {
		ID, Status string
		HTTPStatus int
		Result     map[string]any
	}
	r.get(location).requireOK().into(&view)
	require.Equal(t, "pending", view.Status)
	close(r.connections.hold)
	testkit.Eventually(t, 10*time.Second, func() bool {
		r.get(location).requireOK().into(&view)
		return view.Status == "done"
	}, "done")
	require.Equal(t, http.StatusOK, view.HTTPStatus)
	require.Equal(t, "ready", view.Result["phase"])
	r.do(request{method: http.MethodGet, path: location, role: auth.RoleViewer}).requireError(http.StatusNotFound, "request_not_found")
	r.get("/api/v1/requests/none").requireError(http.StatusNotFound, "request_not_found")
}

func TestWhoPrefersToWaitALittleIsAnsweredWhereThatIsEnough(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do(keyed(probePath, "", "", "Prefer", "respond-async, wait=10")).requireOK()
	r.connections.hold = make(chan struct{})
	defer close(r.connections.hold)
	require.Equal(t, http.StatusAccepted, r.do(keyed(probePath, "", "", "Prefer", `wait="0", Respond-Async; x=y, odd=`)).status)
}

func TestAFailureThatPassesIsNoResultOfAKey(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.fail(connection.ErrBusy)
	got := r.do(keyed(probePath, "k", ""))
	got.requireError(http.StatusServiceUnavailable, "busy")
	require.NotEmpty(t, got.header.Get("Retry-After"))
	r.connections.fail(nil)
	r.do(keyed(probePath, "k", "")).requireOK()
}

func TestALaterAnswerMayBeAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.connections.fail(connection.ErrNoWorker)
	location := r.do(keyed(probePath, "", "", "Prefer", "respond-async")).header.Get("Location")
	var view struct {
		Status string
		Error  struct{ Code string }
	}
	testkit.Eventually(t, 10*time.Second, func() bool {
		r.get(location).requireOK().into(&view)
		return view.Status == "failed"
	}, "failed")
	require.Equal(t, "no_worker", view.Error.Code)
}

func TestARequestWhoseGatewayIsGoneIsToldAsInterrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, _, err := r.store.BeginRequest(t.Context(), store.Request{
		ID: "lost", Principal: "token:x", Kind: "x", CreatedAt: time.Now().Add(-time.Hour),
	})
	require.NoError(t, err)
	var view struct {
		Status string
		Error  struct{ Code string }
	}
	r.get("/api/v1/requests/lost").requireOK().into(&view)
	require.Equal(t, "failed", view.Status)
	require.Equal(t, "request_interrupted", view.Error.Code)
}

func TestOldRequestsAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(48 * time.Hour)
	r := newRig(t, func(p *api.Params) { p.Settings.Now = func() time.Time { return now } })
	_, _, err := r.store.BeginRequest(t.Context(), store.Request{ID: "old", Principal: "x", Kind: "x", CreatedAt: time.Now()})
	require.NoError(t, err)
	r.do(keyed(probePath, "k", "")).requireOK()
	testkit.Eventually(t, 10*time.Second, func() bool {
		_, err := r.store.Request(t.Context(), "old")
		return err != nil
	}, "the old one is gone")
}
