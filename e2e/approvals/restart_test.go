package approvals_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/gatehost"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// primed begins a call that is held and gives the id of its priming event, by which a client takes the stream up again; then the client
// is gone.
func (w *wire) primed(name string, arguments map[string]any) string {
	w.u.t.Helper()
	ctx, cancel := context.WithTimeout(w.u.t.Context(), late)
	defer cancel()
	s := w.begin(ctx, name, arguments, nil)
	defer s.close()
	require.True(w.u.t, s.streams(), "it takes longer than what is answered at once")
	first := s.event()
	require.NotEmpty(w.u.t, first.id)
	require.Empty(w.u.t, first.data)
	return first.id
}

// forged requires that a gateway knows a session id from one that was never given.
func (w *wire) forged() {
	w.u.t.Helper()
	status, _ := w.status("tools/list", map[string]any{})
	require.Equal(w.u.t, http.StatusOK, status)
	status, code := (&wire{u: w.u, base: w.base, session: strings.Repeat("f", 64)}).status("tools/list", map[string]any{})
	require.Equal(w.u.t, http.StatusNotFound, status)
	require.Equal(w.u.t, -32001, code)
}

func executing(address string, arguments map[string]any) map[string]any {
	return map[string]any{"address": address, "arguments": arguments}
}

func TestAClientThatKnowsOnlyItsSessionGoesOnAfterEverythingWasRestarted(t *testing.T) {
	t.Parallel()
	r := newRigWithout(t)
	stopWorker := r.StartWorker()
	r.gateway = r.StartGateway()
	u := r.user(t)
	name := testkit.UniqueName()
	before := u.wire(u.gateway.URL, "browser")
	asked := before.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	asked.byPage(t, u.gateway.URL)
	missed := before.primed(gatehost.ToolExecute, executing("mail.slow", map[string]any{"name": name}))
	u.upstream.Release(name)
	testkit.Eventually(t, late, func() bool {
		waiting, err := u.Store.UndeliveredStreams(t.Context(), before.session)
		return err == nil && len(waiting) == 1
	}, "the answer that its client has missed is stored")
	held := before.begin(t.Context(), gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil)
	defer held.close()

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		u.gateway.Stop()
	}()
	require.False(t, held.result().over(), "a call that is held is told how to go on when its gateway stops")
	<-stopped
	stopWorker()
	r.StartWorker()
	r.gateway = r.StartGateway()

	after := before.at(r.gateway.URL)
	after.forged()
	replayed := after.listen(t.Context(), missed)
	defer replayed.close()
	require.Equal(t, "done", replayed.result().Text)
	u.gateway = r.gateway
	require.Equal(t, "waiting", u.approval(asked.ExecutionID).State)
	require.Equal(t, http.StatusOK, u.decide(asked.ExecutionID, approval.ActionAccept).status)
	got := after.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil)
	require.Equal(t, "completed", got.Status, got.Text)
	require.Equal(t, "wrote "+name, got.Text)
	require.Equal(t, 1, u.runs(name))
}

// processes are a worker and a gateway that are killed and started again.
type processes struct {
	u               *user
	worker, gateway *testkit.Process
	url             string
}

func (p *processes) start() {
	p.u.t.Helper()
	port := testkit.FreePort(p.u.t)
	p.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	p.worker = testkit.Start(p.u.t, p.u.Command("worker"))
	p.gateway = testkit.Start(p.u.t, p.u.Command("gateway", fmt.Sprintf("HOLDFAST_GATEWAY_LISTEN=127.0.0.1:%d", port)))
	testkit.Eventually(p.u.t, late, func() bool {
		a, err := p.u.try(p.url, http.MethodGet, "/readyz", nil)
		return err == nil && a.status == http.StatusOK
	}, "the gateway is ready")
}

func (p *processes) kill() {
	p.gateway.Kill()
	p.worker.Kill()
}

// TestWhatWasAskedBeforeAKillIsApprovedAfterItAndRunsOnce holds A12, A15 and A16.
func TestWhatWasAskedBeforeAKillIsApprovedAfterItAndRunsOnce(t *testing.T) {
	t.Parallel()
	u := newRigWithout(t).user(t)
	p := &processes{u: u}
	p.start()
	name, key := testkit.UniqueName(), testkit.UniqueName()
	meta := map[string]any{gatehost.MetaIdempotencyKey: key}
	before := u.wire(p.url, "browser")
	asked := before.call(gatehost.ToolExecute, executing("mail.put", putting(name)), meta)
	asked.byPage(t, p.url)
	held := before.primed(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID})
	p.kill()
	p.start()

	after := before.at(p.url)
	after.forged()
	var waiting struct{ Items []approvalView }
	u.api(p.url, http.MethodGet, "/api/v1/approvals", nil).ok().into(&waiting)
	require.Len(t, waiting.Items, 1)
	require.Equal(t, asked.ExecutionID, waiting.Items[0].ID)
	first := u.decideAt(p.url, asked.ExecutionID, approval.ActionAccept).ok()
	// The gateway that held the call has gone with it: another takes it over under the same name.
	taken := after.listen(t.Context(), held)
	defer taken.close()
	require.Equal(t, "wrote "+name, taken.result().Text)
	u.requireSettled(p.url, asked.ExecutionID, first)
	require.Equal(t, "wrote "+name, after.call(gatehost.ToolExecute, executing("mail.put", putting(name)), meta).Text, "asked for again under its name")

	p.kill()
	p.start()
	u.requireSettled(p.url, asked.ExecutionID, first)
	again := before.at(p.url)
	again.forged()
	require.Equal(t, "wrote "+name, again.call(gatehost.ToolResume, map[string]any{"executionId": asked.ExecutionID}, nil).Text)
	require.Equal(t, 1, u.runs(name))

	// Ids are never used again.
	next := again.call(gatehost.ToolExecute, executing("mail.put", putting(name)), nil)
	require.NotEqual(t, keyOf(t, asked.ExecutionID), keyOf(t, next.ExecutionID))
	require.NotEqual(t, before.session, u.wire(p.url, "browser").session)
	ended := again.do(t.Context(), http.MethodDelete, "/mcp", nil)
	require.NoError(t, ended.Body.Close())
	require.Equal(t, http.StatusNoContent, ended.StatusCode)
	status, _ := again.status("tools/list", map[string]any{})
	require.Equal(t, http.StatusNotFound, status)
	row, err := u.Store.Session(t.Context(), before.session)
	require.NoError(t, err)
	require.False(t, row.TerminatedAt.IsZero(), "its row stays, so that nobody gets its id")
	require.ErrorIs(t, u.Store.PutSession(t.Context(), row), store.ErrExists)
}

// requireSettled requires that a repeated approval gets the answer of the first, and a contradiction the first decision.
func (u *user) requireSettled(base, id string, first answer) {
	u.t.Helper()
	var then, now approvalView
	first.into(&then)
	u.decideAt(base, id, approval.ActionAccept).ok().into(&now)
	require.Equal(u.t, then.ID, now.ID)
	require.Equal(u.t, then.Decision, now.Decision)
	against := u.decideAt(base, id, approval.ActionDecline)
	require.Equal(u.t, http.StatusConflict, against.status, string(against.body))
	require.Contains(u.t, string(against.body), `"accept"`)
}
