package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

// process is a gateway in a process of its own, which can be killed.
type process struct {
	*testkit.Process

	URL string
}

func (r *rig) startProcess() process {
	r.TB.Helper()
	port := testkit.FreePort(r.TB)
	p := process{URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
	p.Process = testkit.Start(r.TB, testkit.Command{
		Path: testkit.Binary(r.TB, "gateway"),
		Env: append(os.Environ(),
			"HOLDFAST_DATA_DIR="+r.Config.DataDir, "HOLDFAST_TEMPORAL_TASK_QUEUE="+r.Config.Temporal.TaskQueue,
			fmt.Sprintf("HOLDFAST_GATEWAY_LISTEN=127.0.0.1:%d", port),
			"TEMPORAL_ADDRESS="+r.Server.Address(), "TEMPORAL_NAMESPACE="+r.Server.Namespace()),
	})
	testkit.Eventually(r.TB, soon, func() bool {
		a, err := r.try(p.URL, http.MethodGet, "/readyz", nil)
		return err == nil && a.status == http.StatusOK
	}, "the gateway is ready")
	return p
}

func TestAGatewayKilledInAReconcileIsReplacedAndTheRepetitionGetsTheOneResult(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	dying := r.startProcess()
	r.engine.Inject(simulator.RouteRegister, 1, simulator.Fault{Delay: 2 * time.Second})
	gone := make(chan error, 1)
	go func() {
		_, err := r.try(dying.URL, http.MethodPost, r.server("tools", "/reconcile"), r.config(), "Idempotency-Key", "once")
		gone <- err
	}()
	testkit.Eventually(t, soon, func() bool { return r.engine.Calls(simulator.RouteRegister, r.directory) == 1 }, "the push is under way")
	dying.Kill()
	require.Error(t, <-gone)

	next := r.startProcess()
	first := r.call(next.URL, http.MethodPost, r.server("tools", "/reconcile"), r.config(), "Idempotency-Key", "once").ok()
	require.Equal(t, "true", first.header.Get("Idempotent-Replayed"))
	require.True(t, first.document().Usable)
	again := r.call(r.gateway.URL, http.MethodPost, r.server("tools", "/reconcile"), r.config(), "Idempotency-Key", "once").ok()
	require.Equal(t, string(first.body), string(again.body), "whichever gateway answers")
	require.Equal(t, 1, r.engine.Calls(simulator.RouteRegister, r.directory))
	require.Equal(t, 1, r.updates("tools"))
	require.NoError(t, next.Stop(t), "an orderly stop is a success")
}

func TestOneKeySentToSeveralGatewaysAtOnceIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	gateways := []string{r.gateway.URL, r.StartGateway().URL, r.startProcess().URL}
	for _, verb := range []string{"/reconcile", "/disable"} {
		before, body := r.updates("tools"), any(nil)
		if verb == "/reconcile" {
			body = r.config()
			r.engine.Inject(simulator.RouteStatus, 1, simulator.Fault{Delay: time.Second})
		}
		answers := make([]answer, 24)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				var err error
				answers[i], err = r.try(gateways[i%len(gateways)], http.MethodPost, r.connection("tools", verb), body, "Idempotency-Key", "k"+verb)
				require.NoError(t, err)
			})
		}
		all.Wait()
		for _, a := range answers {
			require.Equal(t, string(answers[0].ok().body), string(a.ok().body))
		}
		if verb == "/reconcile" {
			require.Equal(t, before+1, r.updates("tools"))
		}
	}
	intents, err := r.Store.Intents(t.Context(), store.IntentFilter{Workspace: r.workspace})
	require.NoError(t, err)
	require.Len(t, intents, 1)
	require.Equal(t, int64(1), intents[0].Revision, "written once")
}

func TestARemovalWhoseGatewayWasKilledGoesOnAtAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	dying := r.startProcess()
	r.engine.Inject(simulator.RouteDisconnect, 1, simulator.Fault{Delay: 2 * time.Second})
	gone := make(chan error, 1)
	go func() {
		_, err := r.try(dying.URL, http.MethodPost, r.connection("tools", "/remove"), nil, "Idempotency-Key", "once")
		gone <- err
	}()
	testkit.Eventually(t, soon, func() bool {
		_, err := r.Store.Desired(t.Context(), r.key("tools"))
		return errors.Is(err, store.ErrNotFound)
	}, "it is halfway")
	dying.Kill()
	require.Error(t, <-gone)
	first := r.post(r.connection("tools", "/remove"), nil, "Idempotency-Key", "once").ok()
	require.Less(t, first.took, soon)
	again := r.post(r.connection("tools", "/remove"), nil, "Idempotency-Key", "once").ok()
	require.Equal(t, string(first.body), string(again.body))
	d, err := r.Connections.Describe(t.Context(), r.key("tools"))
	require.NoError(t, err)
	require.False(t, d.Running)
}

func TestALaterAnswerIsReadFromAnotherGateway(t *testing.T) {
	t.Parallel()
	r := newRig(t, quiet)
	accepted := r.post(r.server("tools", "/reconcile"), r.config(), "Prefer", "respond-async")
	require.Equal(t, http.StatusAccepted, accepted.status)
	other := r.StartGateway()
	var view struct {
		Status string
		Result document
	}
	testkit.Eventually(t, soon, func() bool {
		r.call(other.URL, http.MethodGet, accepted.header.Get("Location"), nil).ok().into(&view)
		return view.Status == "done"
	}, "done")
	require.True(t, view.Result.Usable)
}

func TestWithoutAWorkerIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t, stack.Options{NoWorker: true})
	stop := r.StartWorker()
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	stop()
	for _, ask := range []func() answer{
		func() answer { return r.post(r.connection("tools", "/probe"), nil) },
		func() answer { return r.post(r.connection("tools", "/refresh"), nil) },
		func() answer { return r.post(r.connection("tools", "/remove"), nil, "Idempotency-Key", "k") },
		func() answer { return r.call(r.gateway.URL, http.MethodDelete, r.server("tools", ""), nil) },
		func() answer { return r.get(r.connection("tools", "/projection")) },
		func() answer { return r.get(r.connection("tools", "/transitions")) },
	} {
		a := ask()
		require.Equal(t, "no_worker", a.code(), string(a.body))
		require.NotEmpty(t, a.header.Get("Retry-After"))
		require.Less(t, a.took, told+500*time.Millisecond)
	}
	r.get(r.connection("tools", "")).ok()
	r.get("/api/v1/connections?workspace=" + r.workspace).ok()
}

func TestATemporalThatIsGoneIsToldInTimeAndItsReturnIsTakenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	port := testkit.FreePort(t)
	o := temporalclient.DevServerOptions{Headless: true, Port: port, DataFile: t.TempDir() + "/temporal.db"}
	server, err := stack.StartServer(ctx, o)
	require.NoError(t, err)
	end := func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = server.Stop(stopping)
	}
	t.Cleanup(func() { end() })
	r := newRig(t, stack.Options{Server: server})
	r.post(r.server("tools", "/reconcile"), r.config()).ok()
	end()
	for _, ask := range []func() answer{
		func() answer { return r.get(r.server("tools", "/health")) },
		func() answer { return r.get("/api/v1/connections") },
		func() answer { return r.post(r.connection("tools", "/probe"), nil) },
		func() answer { return r.get(r.connection("tools", "/projection")) },
	} {
		a := ask()
		require.Equal(t, http.StatusServiceUnavailable, a.status, string(a.body))
		require.Equal(t, "temporal_unavailable", a.code())
		require.NotEmpty(t, a.header.Get("Retry-After"))
		require.Less(t, a.took, told)
	}
	r.get("/api/v1/workspaces").ok()
	server, err = stack.StartServer(ctx, o)
	require.NoError(t, err)
	testkit.Eventually(t, soon, func() bool { return r.get(r.server("tools", "/health")).status == http.StatusOK }, "and it goes on")
}

func TestOthersAreLetInOnlyByATokenThatMayBeUsed(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{NoWorker: true})
	start := func() error {
		g, err := s.TryGateway("0.0.0.0:0")
		if err == nil {
			g.Stop()
		}
		return err
	}
	require.ErrorContains(t, start(), "holdfast token create --role owner --name NAME")
	tokens := auth.NewTokens(s.Store, nil)
	t.Cleanup(tokens.Close)
	_, row, err := tokens.Create(t.Context(), auth.Request{Name: "x", Role: auth.RoleViewer})
	require.NoError(t, err)
	require.NoError(t, start())
	require.NoError(t, tokens.Revoke(t.Context(), row.ID))
	require.ErrorContains(t, start(), "holdfast token create")
}
