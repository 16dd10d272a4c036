package engine_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func proven(in *engine.RegisterRequest) { in.Proven = true }

func TestCase42ACleanRunPostsOnceAndNamesTheDirectoryOnce(t *testing.T) {
	t.Parallel()
	const secret = "canary-5ecret-value"
	r := newRig(t, peers.Options{Endpoint: simulator.EndpointOptions{Token: secret}})
	r.revision = r.Want(r.key, peers.Header("Authorization", "Bearer "+secret))
	upstream, err := url.Parse(r.Engine.BaseURL())
	require.NoError(t, err)
	var mu sync.Mutex
	var directories [][]string
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		directories = append(directories, req.URL.Query()["directory"])
		mu.Unlock()
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(front.Close)
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: front.URL})

	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 1, r.posts())
	mu.Lock()
	defer mu.Unlock()
	for _, named := range directories {
		require.Equal(t, []string{r.key.Directory}, named)
	}
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
	require.Equal(t, "Bearer "+secret, r.Engine.Registrations(r.key.Directory)[0].Config["headers"].(map[string]any)["Authorization"])
	require.Equal(t, json.Number("2000"), r.Engine.Registrations(r.key.Directory)[0].Config["timeout"])
}

func TestCase43AnEngineThatIsDownIsUnreachableAndNothingIsUnderWay(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Kill()
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeEngineUnreachable)
	require.True(t, f.Retryable)
	require.Equal(t, health.PhaseEngineUnreachable, health.PhaseOf(&f))
	push, err := r.Store.LastPush(t.Context(), r.key)
	require.NoError(t, err)
	require.Zero(t, push)
}

func TestCase44AFailedPushStopsAtTheFirstStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterRejected, got.Outcome)
	require.Equal(t, "failed", got.Status)
	require.True(t, got.Failure.Retryable, "the engine's text decides nothing")
	require.Equal(t, 2, r.Engine.Calls(simulator.RouteStatus, r.key.Directory), "one read before the push, one after it")
}

func TestCase50OnlyWhatIsNotProvenOrNotConnectedIsPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	got, err := r.register(t, proven)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterAlreadyProven, got.Outcome)
	require.Equal(t, 1, r.posts())

	// Another config is pushed even though the live status is connected.
	r.revision = r.Want(r.key, peers.Header("X-Version", "2"))
	r.deliver(t)
	require.Equal(t, 2, r.posts())

	// A receipt does not help when the engine says failed.
	r.Engine.Inject(simulator.RouteStatus, 1, simulator.Fault{Status: 200, Body: `{"cloud":{"status":"failed","error":"x"}}`})
	got, err = r.register(t, proven)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 3, r.posts())
}

func TestAClientThatASessionUsesIsNotReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	r.revision = r.Want(r.key, peers.Header("X-Version", "2"))
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterEngineBusy, got.Outcome)
	require.Equal(t, 1, r.posts())
	push, err := r.Store.LastPush(t.Context(), r.key)
	require.NoError(t, err)
	require.False(t, push.InFlight(r.Clock.Now()))
}

func TestABusySessionWithoutAClientIsNoReasonToWait(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.SetBusy(r.key.Directory, true)
	r.deliver(t)
}

func TestANameOfTheEnginesOwnConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		config   map[string]any
		conflict bool
	}{
		{"a remote server", map[string]any{"type": "remote", "url": "http://127.0.0.1:1/mcp", "enabled": false}, true},
		{"a local server", map[string]any{"type": "local", "command": []string{"true"}}, true},
		{"only switched off", map[string]any{"enabled": false}, false},
		{"only switched on", map[string]any{"enabled": true}, false},
		{"half a server", map[string]any{"url": "http://127.0.0.1:1/mcp"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{})
			r.Engine.Configure(r.key.Directory, r.key.Name, tc.config)
			got, err := r.register(t)
			if !tc.conflict {
				require.NoError(t, err)
				require.Equal(t, engine.RegisterDelivered, got.Outcome)
				return
			}
			f := peers.RequireFailure(t, err, health.CodeEngineConfigConflict)
			require.False(t, f.Retryable)
			require.Equal(t, health.PhaseRegistrationFailed, health.PhaseOf(&f))
			require.Zero(t, r.posts())
		})
	}
}

func TestAnAbandonedPushIsWaitedOut(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	now := r.Clock.Now()
	require.NoError(t, r.Store.BeginPush(t.Context(), r.key, store.Push{
		Generation: 1, Revision: r.revision, StartedAt: now, Deadline: now.Add(20 * time.Second),
	}))
	_, err := r.register(t)
	reason, wait := peers.RequireNotDue(t, err)
	require.Contains(t, reason, "earlier push")
	require.Equal(t, 20*time.Second, wait)
	require.Zero(t, r.posts())

	r.Clock.Advance(wait)
	r.deliver(t)
	push, err := r.Store.LastPush(t.Context(), r.key)
	require.NoError(t, err)
	require.False(t, push.FinishedAt.IsZero())
}

func TestAPushWhoseAnswerWasLostMayStillEndInTheEngine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fault simulator.Fault
	}{
		{"connection broken", simulator.Fault{Reset: true}},
		{"a proxy gave up", simulator.AnswerHTML(http.StatusGatewayTimeout)},
		{"a proxy's page", simulator.AnswerHTML(http.StatusOK)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{})
			r.Engine.Inject(simulator.RouteRegister, 1, tc.fault)
			_, err := r.register(t)
			require.Error(t, err)
			push, err := r.Store.LastPush(t.Context(), r.key)
			require.NoError(t, err)
			require.True(t, push.InFlight(r.Clock.Now()))
			_, err = r.register(t)
			_, wait := peers.RequireNotDue(t, err)
			require.Equal(t, 11*time.Second, wait, "three timeouts, and what the answer may take")
			r.Clock.Advance(wait)
			r.deliver(t)
			require.Equal(t, 2, r.posts())
		})
	}
}

func TestAPushThatTheEngineRefusesIsOverAndNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Engine.Inject(simulator.RouteRegister, 1, simulator.AnswerStatus(http.StatusBadRequest))
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeSyncFailed)
	require.False(t, f.Retryable)
	require.Contains(t, f.Aliases, health.AliasRegistrationFailed)
	require.Contains(t, f.Cause(), "http 400")
	require.Equal(t, "opencode_mcp_sync_failed", string(f.Code))
	// The entry is as missing as before: nothing is to be decided until somebody changes something.
	r.rest(t, "waiting: opencode_mcp_sync_failed", failed(f), last("missing"))
	r.deliver(t)
}

func TestAPushThatWasNeverSentIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	var reads atomic.Int32
	var listener net.Listener
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close")
		if reads.Add(1) == 2 { // entry and configuration are read; then nobody listens any more
			_ = listener.Close()
		}
		_, _ = w.Write([]byte("{}"))
	}))
	listener = front.Listener
	front.Start()
	t.Cleanup(front.Close)
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: front.URL})
	_, err := r.register(t)
	require.True(t, peers.RequireFailure(t, err, health.CodeEngineUnreachable).Retryable)
	push, err := r.Store.LastPush(t.Context(), r.key)
	require.NoError(t, err)
	require.False(t, push.StartedAt.IsZero(), "it was about to be sent")
	require.False(t, push.InFlight(r.Clock.Now()))
}

func TestADeliveryOfSomethingElseIsNotTried(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	got, err := r.register(t, func(in *engine.RegisterRequest) { in.Revision = "an older one" })
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDesiredChanged, got.Outcome)
	_, err = r.Store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	got, err = r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDesiredChanged, got.Outcome)
	require.Zero(t, r.Engine.AllCalls(""))
}

func TestCase30AnInvalidConfigIsNeverPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.revision = r.Want(r.key, func(d *store.Desired) { d.Config.Enabled = nil })
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeDisabled)
	require.Equal(t, health.StageDesiredConfig, f.Stage)
	require.Zero(t, r.Engine.AllCalls(""))
}

func TestCase45WithoutADirectoryNothingIsAskedOrPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.key.Directory = ""
	r.revision = r.Want(r.key)
	_, err := r.register(t)
	require.False(t, peers.RequireFailure(t, err, health.CodeDirectoryAmbiguous).Retryable)
	require.Zero(t, r.Engine.AllCalls(""))
	require.Zero(t, r.Endpoint.Count(simulator.AnyRequest))
}

func TestAWrongPasswordIsSaidInClearWordsAndItsSecretIsNot(t *testing.T) {
	t.Parallel()
	const wrong = "wrong-5ecret-password"
	r := newRig(t, peers.Options{Engine: simulator.EngineOptions{Password: "right"}})
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: r.Engine.BaseURL(), Password: wrong})
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeSyncFailed)
	require.False(t, f.Retryable)
	require.Contains(t, f.Cause(), "check the user name and password")
	require.Contains(t, f.RecommendedAction, "credentials")
	require.NotContains(t, err.Error(), wrong)
	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(raw), wrong)

	// The look that waits for it does not decide the same again, and notices the right one by itself.
	r.rest(t, "waiting: the engine refuses to answer", failed(f), last(""))
	r.PutEngine(store.Engine{ID: peers.EngineID, BaseURL: r.Engine.BaseURL(), Password: "right"})
	r.decide(t, engine.DecisionEntryGone, failed(f), last("missing"))
	r.deliver(t)
}

func TestACorruptRowIsNamedAndNothingIsPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.Damage(`UPDATE connection_desired SET config = zeroblob(80)`)
	_, err := r.register(t)
	f := peers.RequireFailure(t, err, health.CodeDesiredUnreadable)
	require.Contains(t, f.Cause(), r.key.String())
	require.Zero(t, r.Engine.AllCalls(""))
}

func TestAnEngineThatIsNotNamedNeedsAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.revision = r.Want(r.key, func(d *store.Desired) { d.EngineID = "" })
	_, err := r.register(t)
	require.False(t, peers.RequireFailure(t, err, health.CodeEngineUnconfigured).Retryable)
}

func TestPushesOfOneConnectionNeverOverlap(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	answer := make(chan struct{})
	r.Engine.Inject(simulator.RouteRegister, 1, simulator.Fault{Until: answer})
	first := make(chan error, 1)
	go func() {
		_, err := peers.NewEnvironment(r.activities).ExecuteActivity(engine.RegisterName,
			engine.RegisterRequest{Key: r.key, Revision: r.revision, Generation: 1})
		first <- err
	}()
	testkit.Eventually(t, soon, func() bool { return r.posts() == 1 }, "the first push is under way")
	_, err := r.register(t)
	peers.RequireNotDue(t, err)
	require.Equal(t, 1, r.posts())
	close(answer)
	require.NoError(t, <-first)
}

func TestACallThatADeliveryNeedsBesideTheStatusIsTriedAgainWithBackoff(t *testing.T) {
	t.Parallel()
	for _, route := range []simulator.Route{simulator.RouteSessionStatus, simulator.RouteConfig} {
		for _, fault := range []simulator.Fault{
			simulator.AnswerStatus(http.StatusNotFound), simulator.AnswerStatus(http.StatusBadGateway),
			simulator.AnswerHTML(http.StatusOK),
		} {
			t.Run(fmt.Sprintf("%s %d", route, fault.Status), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, peers.Options{})
				r.deliver(t)
				r.Engine.Inject(route, simulator.Always, fault)
				_, err := r.register(t)
				f := peers.RequireFailure(t, err, health.CodeSyncFailed)
				require.True(t, f.Retryable)
				require.Equal(t, 1, r.posts(), "nothing is pushed blindly")
				// A look that finds the status as it was leaves the next try to its time.
				r.rest(t, "waiting: opencode_mcp_sync_failed", failed(f), last("connected"))
			})
		}
	}
}
