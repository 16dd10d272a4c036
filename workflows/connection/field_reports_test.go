package connection_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// skipping is the workflow with its real activities, a real engine and a real endpoint, under skipped time.
type skipping struct {
	*peers.Peers

	env *testsuite.TestWorkflowEnvironment
}

func newSkipping(t *testing.T) *skipping {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	s := &skipping{Peers: peers.New(t, peers.Options{}), env: suite.NewTestWorkflowEnvironment()}
	s.env.SetTestTimeout(30 * time.Second)
	s.env.SetStartWorkflowOptions(startOptions())
	s.env.RegisterWorkflowWithOptions(connection.Workflow, workflow.RegisterOptions{Name: connection.WorkflowName})
	prober := endpoint.NewProber(s.Store, 5*time.Second).WithClock(s.env.Now)
	engines := engine.NewActivities(engine.Params{
		Store: s.Store, Resolver: s.Resolver, Prober: prober, Log: slog.New(slog.DiscardHandler), Now: s.env.Now,
		Settings: engine.Settings{
			PollInterval: 30 * time.Second, ProbeInterval: time.Minute, Jitter: 0.1, EngineTimeout: 5 * time.Second,
		},
	})
	t.Cleanup(engines.Close)
	sources := tokensource.NewSources(tokensource.Options{Now: s.env.Now})
	t.Cleanup(sources.Close)
	s.Resolver.WithClock(s.env.Now)
	minter := tokensource.NewMinter(tokensource.Params{Store: s.Store, Sources: sources, MAC: s.Keys.MAC(), Now: s.env.Now})
	for _, set := range []peers.Registrar{
		desired.NewActivities(s.Resolver), endpoint.NewActivities(s.Resolver, prober), engines,
		endpoint.NewMintActivities(s.Resolver, minter, 5*time.Second),
	} {
		set.Register(s.env)
	}
	return s
}

func (s *skipping) snapshot(t *testing.T) connection.Snapshot {
	t.Helper()
	value, err := s.env.QueryWorkflow(connection.QuerySnapshot)
	require.NoError(t, err)
	var got connection.Snapshot
	require.NoError(t, value.Get(&got))
	return got
}

// A5: whoever refuses us for ever is not hammered. The count is the endpoint's own: all our requests and the engine's.
func TestAnEndpointThatRefusesForEverGetsFewRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		status int
		// well is how long all is well before the refusals begin.
		well time.Duration
		code health.Code
		// first and later are the most requests in the first hour and in the second.
		first, later int
	}{
		{"401 from the start", http.StatusUnauthorized, 0, health.CodeInvalidToken, 15, 5},
		{"401 after a rotation", http.StatusUnauthorized, 10 * time.Minute, health.CodeInvalidToken, 15, 5},
		{"403", http.StatusForbidden, 0, health.CodeWrongResource, 15, 5},
		{"502 from the start", http.StatusBadGateway, 0, health.CodeToolsMissing, 20, 10},
		{"502 later", http.StatusBadGateway, 10 * time.Minute, health.CodeToolsMissing, 30, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSkipping(t)
			key := s.Key()
			s.Want(key)
			refuse := func() {
				s.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(tc.status))
			}
			var began, first, later int
			if tc.well == 0 {
				refuse()
			} else {
				s.env.RegisterDelayedCallback(func() {
					require.Equal(t, delivery.Ready, s.snapshot(t).State)
					began = s.Endpoint.Count(simulator.AnyRequest)
					refuse()
				}, tc.well)
			}
			s.env.RegisterDelayedCallback(func() {
				first = s.Endpoint.Count(simulator.AnyRequest) - began
				got := s.snapshot(t)
				require.Equal(t, delivery.Failed, got.State)
				require.Equal(t, tc.code, got.Failure.Code)
			}, tc.well+time.Hour)
			s.env.RegisterDelayedCallback(func() {
				later = s.Endpoint.Count(simulator.AnyRequest) - began - first
				s.env.CancelWorkflow()
			}, tc.well+2*time.Hour)
			s.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
			require.True(t, s.env.IsWorkflowCompleted())
			t.Logf("requests at the endpoint: %d in the first hour, %d in the second", first, later)
			require.LessOrEqual(t, first, tc.first)
			require.LessOrEqual(t, later, tc.later)
			require.Positive(t, later, "an outside heal would be noticed")
			require.Len(t, s.Engine.Registrations(""), 1, "nothing is registered again")
		})
	}
}

// A5 with a token source: each token is asked about before it is delivered, which must not become knocking of its own.
func TestAnEndpointThatRefusesEveryMintedTokenGetsFewRequestsAndFewTokens(t *testing.T) {
	t.Parallel()
	for _, well := range []time.Duration{0, 10 * time.Minute} {
		t.Run("after "+well.String(), func(t *testing.T) {
			t.Parallel()
			s := newSkipping(t)
			tokens, err := simulator.NewTokenServer(simulator.TokenServerOptions{Lifetime: 24 * time.Hour})
			require.NoError(t, err)
			t.Cleanup(tokens.Close)
			key := s.Key()
			s.Want(key, func(d *store.Desired) {
				d.TokenSource = &domain.TokenSource{
					Kind: domain.SourceClientCredentials, TokenURL: tokens.URL(), ClientID: "client", ClientSecret: "s3cret",
				}
			})
			var dialled, minted int
			refuse := func() {
				dialled, minted = s.Endpoint.Count(simulator.AnyRequest), tokens.Issued()
				s.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(http.StatusUnauthorized))
			}
			if well == 0 {
				refuse()
			} else {
				s.env.RegisterDelayedCallback(refuse, well)
			}
			s.env.RegisterDelayedCallback(func() {
				got := s.snapshot(t)
				require.Equal(t, delivery.Failed, got.State)
				require.Equal(t, health.CodeInvalidToken, got.Failure.Code)
				dialled, minted = s.Endpoint.Count(simulator.AnyRequest)-dialled, tokens.Issued()-minted
				s.env.CancelWorkflow()
			}, well+time.Hour)
			s.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
			require.True(t, s.env.IsWorkflowCompleted())
			t.Logf("in the first hour: %d requests at the endpoint, %d tokens", dialled, minted)
			require.LessOrEqual(t, dialled, 15)
			require.Equal(t, 1, minted, "one in the episode")
			require.Positive(t, dialled)
		})
	}
}

// The engine that refuses, is not configured or takes no push is looked at and tried with pauses, never in a loop.
func TestARefusingEngineIsNotHammered(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		route simulator.Route
		fault simulator.Fault
		code  health.Code
		// most is the most calls in a quarter of an hour.
		most int
		// heals is false where only a person can tell that the cause is gone.
		heals bool
	}{
		{"status refused", simulator.RouteStatus, simulator.AnswerStatus(http.StatusUnauthorized), health.CodeSyncFailed, 90, true},
		{"status fails", simulator.RouteStatus, simulator.AnswerStatus(http.StatusBadGateway), health.CodeEngineUnreachable, 90, true},
		{"configuration refused", simulator.RouteConfig, simulator.AnswerStatus(http.StatusNotFound), health.CodeSyncFailed, 30, true},
		{"configuration fails", simulator.RouteConfig, simulator.AnswerStatus(http.StatusBadGateway), health.CodeSyncFailed, 30, true},
		{"push refused", simulator.RouteRegister, simulator.AnswerStatus(http.StatusBadRequest), health.CodeSyncFailed, 5, false},
		{"push fails", simulator.RouteRegister, simulator.AnswerStatus(http.StatusInternalServerError), health.CodeSyncFailed, 30, true},
		{"push breaks off", simulator.RouteRegister, simulator.Fault{Reset: true}, health.CodeSyncFailed, 30, true},
		{"push answered with a page", simulator.RouteRegister, simulator.AnswerHTML(http.StatusOK), health.CodeSyncFailed, 30, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSkipping(t)
			key := s.Key()
			s.Want(key)
			s.Engine.Inject(tc.route, simulator.Always, tc.fault)
			var calls int
			var during, after connection.Snapshot
			s.env.RegisterDelayedCallback(func() {
				calls, during = s.Engine.Calls(tc.route, ""), s.snapshot(t)
				s.Engine.ClearFaults()
			}, 15*time.Minute)
			s.env.RegisterDelayedCallback(func() {
				after = s.snapshot(t)
				s.env.CancelWorkflow()
			}, 30*time.Minute)
			s.env.ExecuteWorkflow(connection.WorkflowName, &connection.State{Key: key})
			require.True(t, s.env.IsWorkflowCompleted())
			t.Logf("%d calls in a quarter of an hour", calls)
			require.Equal(t, tc.code, during.Failure.Code)
			require.LessOrEqual(t, calls, tc.most)
			require.Equal(t, tc.heals, after.State == delivery.Ready, "goes on by itself: %v", after.Failure)
		})
	}
}

// A8: what went wrong hours ago counts for nothing, and no transport error is ever final.
func TestEarlierDropsAreForgottenAfterAStableSpell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const cycles, apart = 6, 2 * time.Hour
	pushes := make([][]time.Time, cycles)
	for i := range cycles {
		start := time.Duration(i+1) * apart
		reject := rejected("SSE error: Unable to connect.")
		w.at(start, func() {
			require.Equal(t, delivery.Ready, w.snapshot().State)
			w.set(func() {
				w.onRegister = func(in engine.RegisterRequest) (engine.RegisterResult, error) {
					pushes[i] = append(pushes[i], w.env.Now())
					return reject(in)
				}
			})
			w.once(engine.InspectResult{Decision: engine.DecisionEntryGone, Status: "missing"})
		})
		w.at(start+5*time.Minute, func() {
			require.Equal(t, delivery.Failed, w.snapshot().State)
			w.set(func() { w.onRegister = nil })
		})
		w.at(start+time.Hour, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	}
	w.run(cycles*apart + 90*time.Minute)
	for i, at := range pushes {
		require.Greater(t, len(at), 5)
		require.Less(t, at[1].Sub(at[0]), 2*time.Second, "drop %d begins with the shortest wait", i+1)
		require.Greater(t, at[5].Sub(at[4]), 10*time.Second, "and its waits grow")
	}
}

func TestATransportErrorIsNeverFinal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onRegister = rejected("SSE error: Unable to connect.")
	w.onInspect = func(engine.InspectRequest) (engine.InspectResult, error) {
		return engine.InspectResult{}, apperr.NotDue("waiting", time.Hour)
	}
	const day = 24 * time.Hour
	w.at(day, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.True(t, s.Failure.Retryable)
		require.NotNil(t, s.NextAttemptAt)
		require.Greater(t, len(w.registers), 80, "it has been tried all the time, about four times an hour")
		require.Less(t, len(w.registers), 150)
		w.set(func() { w.onRegister = nil })
	})
	w.at(day+20*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(day + time.Hour)
}
