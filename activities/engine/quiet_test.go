package engine_test

import (
	"fmt"
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

const (
	shortWait = 100 * time.Millisecond
	usesIt    = "waiting: a session uses the client"
)

// quietly lets a registration wait for a quiet moment.
func quietly(wait time.Duration) func(*engine.RegisterRequest) {
	return func(in *engine.RegisterRequest) { in.QuietWaitMillis = int(wait.Milliseconds()) }
}

func forced(in *engine.RegisterRequest) { in.Force = true }

// reads is how often the sessions were read.
func (r *rig) reads() int { return r.Engine.Calls(simulator.RouteSessionStatus, r.key.Directory) }

// restAfter lets the sessions rest once they were read n times more.
func (r *rig) restAfter(t *testing.T, n int) {
	t.Helper()
	from := r.reads()
	done := make(chan bool, 1)
	go func() {
		done <- testkit.Poll(t, soon, func() bool { return r.reads() >= from+n })
		r.Engine.SetBusy(r.key.Directory, false)
	}()
	t.Cleanup(func() { require.True(t, <-done) })
}

// sessionsSay answers the next n reads of the sessions.
func (r *rig) sessionsSay(n int, body string) {
	r.Engine.Inject(simulator.RouteSessionStatus, n, simulator.Fault{Status: 200, Body: body})
}

func usedBy(session string) string { return `{"` + session + `":{"type":"busy"}}` }

func (r *rig) lastPush(t *testing.T) store.Push {
	t.Helper()
	push, err := r.Store.LastPush(t.Context(), r.key)
	require.NoError(t, err)
	return push
}

func TestAPushWaitsForTheMomentAtWhichNoSessionUsesTheClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	r.restAfter(t, 3)
	got, err := r.register(t, quietly(soon))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 2, r.posts())
	require.False(t, r.lastPush(t).InFlight(r.Clock.Now()))
}

func TestAPushThatMayNotWaitIsMadeAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 2, r.reads(), "one before the push is noted, one right before it is sent")
}

func TestAPushThatMayWaitMakesSureThatNobodyWorksTurnAfterTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	began := time.Now()
	got, err := r.register(t, quietly(soon))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.GreaterOrEqual(t, time.Since(began), time.Second)

	// The wait that is asked for bounds this too.
	began = time.Now()
	got, err = r.register(t, quietly(shortWait))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.GreaterOrEqual(t, time.Since(began), shortWait)
	require.Equal(t, 3, r.posts())
}

func TestATurnInTheMeantimeIsWaitedForAndThePushFollowsItAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.sessionsSay(1, `{}`)
	r.sessionsSay(2, usedBy("ses_a"))
	got, err := r.register(t, quietly(soon))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 5, r.reads(), "the read that finds it rest, and one right before the push")
}

func TestAWaitThatRunsOutLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	before := r.lastPush(t)
	r.Engine.SetBusy(r.key.Directory, true)
	got, err := r.register(t, quietly(shortWait))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterEngineBusy, got.Outcome)
	require.Greater(t, r.reads(), 3, "it looked again and again")
	require.Equal(t, 1, r.posts())
	require.Equal(t, before, r.lastPush(t))
}

func TestASessionThatBeginsWhileThePushIsNotedIsWaitedFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.sessionsSay(1, usedBy("ses_a"))
	r.sessionsSay(1, `{}`)
	r.sessionsSay(3, usedBy("ses_b"))
	got, err := r.register(t, quietly(soon))
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 6, r.reads())
	require.Equal(t, 2, r.posts())
}

func TestAPushThatIsNotedAndNotSentIsOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after simulator.Fault
		then  func(*testing.T, engine.RegisterResult, error)
	}{
		"a session begins and goes on": {
			simulator.Fault{Status: 200, Body: `{"ses_a":{"type":"retry"}}`},
			func(t *testing.T, got engine.RegisterResult, err error) {
				t.Helper()
				require.NoError(t, err)
				require.Equal(t, engine.RegisterEngineBusy, got.Outcome)
			},
		},
		"the sessions cannot be read": {
			simulator.Fault{Status: 500},
			func(t *testing.T, _ engine.RegisterResult, err error) {
				t.Helper()
				f := peers.RequireFailure(t, err, health.CodeSyncFailed)
				require.True(t, f.Retryable)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, peers.Options{})
			r.deliver(t)
			r.sessionsSay(1, usedBy("ses_a"))
			r.sessionsSay(1, `{}`)
			r.Engine.Inject(simulator.RouteSessionStatus, simulator.Always, tc.after)
			got, err := r.register(t, quietly(shortWait))
			tc.then(t, got, err)
			require.Equal(t, 1, r.posts())
			require.False(t, r.lastPush(t).InFlight(r.Clock.Now()))
		})
	}
}

func TestAForcedPushReplacesAClientThatASessionUses(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	got, err := r.register(t, quietly(soon), forced)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, 2, r.posts())
	require.Zero(t, r.reads())
	// Forced or not: what is proven is not pushed.
	got, err = r.register(t, forced, proven)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterAlreadyProven, got.Outcome)
}

func TestAWorkerThatStopsDoesNotWaitForSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.RestSpan = time.Hour })
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	stopping := make(chan struct{})
	close(stopping)
	env := peers.NewEnvironment(r.activities)
	env.SetWorkerStopChannel(stopping)
	in := engine.RegisterRequest{Key: r.key, Revision: r.revision, Generation: 1, QuietWaitMillis: 10_000}
	value, err := env.ExecuteActivity(engine.RegisterName, in)
	require.NoError(t, err)
	var got engine.RegisterResult
	require.NoError(t, value.Get(&got))
	require.Equal(t, engine.RegisterEngineBusy, got.Outcome)
	require.Equal(t, 1, r.reads())
}

func TestALookSeesTheSessionsRestWithinOneTry(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.RestSpan = soon })
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	r.restAfter(t, 3)
	r.decide(t, engine.DecisionEngineIdle, idle)
}

func TestALookForSomebodyWhoWaitsDoesNotWaitForSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.RestSpan = time.Hour })
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	r.decide(t, engine.DecisionInSync, idle, once)
}

func TestFewLooksWaitForSessionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const waiting = 16
	r := newRig(t, peers.Options{}, func(s *engine.Settings) { s.RestSpan, s.EngineTimeout = soon, soon })
	r.deliver(t)
	r.Engine.SetBusy(r.key.Directory, true)
	goOn := make(chan struct{})
	r.Engine.Inject(simulator.RouteSessionStatus, waiting, simulator.Fault{Until: goOn})
	decided := make(chan error, waiting)
	for range waiting {
		go func() {
			got, err := r.inspect(t, idle)
			if err == nil && got.Decision != engine.DecisionEngineIdle {
				err = fmt.Errorf("decided: %s", got.Decision)
			}
			decided <- err
		}()
	}
	testkit.Eventually(t, soon, func() bool { return r.reads() == waiting }, "each is about to look")
	require.Equal(t, 5*time.Second, r.rest(t, usesIt, idle), "one more does not wait")
	close(goOn)
	testkit.Eventually(t, soon, func() bool { return r.reads() > 2*waiting }, "they look again")
	r.Engine.SetBusy(r.key.Directory, false)
	for range waiting {
		require.NoError(t, <-decided)
	}
}
