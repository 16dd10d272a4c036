package e2e_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const tool = "search_capabilities"

// want is what apply wants, for tests that change a part of it.
func (s *simulated) want() stack.Want {
	return stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
		TimeoutMillis: 2000,
	}
}

// health asks the workflow for the connection's health.
func (s *simulated) health() connection.Health {
	s.TB.Helper()
	got, err := s.Connections.Health(s.TB.Context(), s.key)
	require.NoError(s.TB, err)
	return got
}

// probedAgain waits until the endpoint has been probed n times more.
func (s *simulated) probedAgain(n int) {
	s.TB.Helper()
	before := s.endpoint.Count("tools/list")
	testkit.Eventually(s.TB, soon, func() bool { return s.endpoint.Count("tools/list") >= before+n }, "probed again")
}

// lookedAgain waits until the engine has been looked at n times more.
func (s *simulated) lookedAgain(n int) {
	s.TB.Helper()
	before := s.engine.Calls(simulator.RouteStatus, s.key.Directory)
	testkit.Eventually(s.TB, soon, func() bool {
		return s.engine.Calls(simulator.RouteStatus, s.key.Directory) >= before+n
	}, "looked at again")
}

func (s *simulated) requireToolWorks() {
	s.TB.Helper()
	_, err := s.engine.ToolCall(s.TB.Context(), s.key.Directory, s.key.Name, tool)
	require.NoError(s.TB, err)
}

// front puts a proxy before a server.
func front(t *testing.T, upstream string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(upstream)
	require.NoError(t, err)
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.FlushInterval = -1
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server
}

func TestA1ADeadServerDoesNotStayConnected(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	s.endpoint.Stop()
	s.AwaitState(s.key, delivery.Failed, soon)
	require.Contains(t, s.RequireDegraded(s.key).Degraded.Failure.Cause(), "refused")
	got := s.health()
	require.False(t, got.Usable)
	require.Equal(t, health.CodeEndpointUnreachable, got.FirstFailure.Code)
	require.Contains(t, got.FirstFailure.Cause(), "refused")
	require.NotNil(t, got.Tools.LastOKAt, "when it was last well is told")
	require.True(t, got.Tools.LastOKAt.Before(got.Tools.CheckedAt))
	require.Equal(t, delivery.Failed, s.States(s.key)[len(s.States(s.key))-1])
}

func TestA2AStreamThatAProxyClosesCostsNothing(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{SSE: true})
	proxy := front(t, s.endpoint.URL())
	want := s.want()
	want.URL = proxy.URL + "/mcp"
	s.key = s.Apply(want)
	before := s.AwaitState(s.key, delivery.Ready, soon)
	testkit.Eventually(t, soon, func() bool { return s.endpoint.Streams() == 1 }, "the engine holds a stream")
	proxy.CloseClientConnections()
	testkit.Eventually(t, soon, func() bool { return s.endpoint.Streams() == 0 }, "the stream is closed")
	s.requireToolWorks()
	s.probedAgain(2)
	got := s.Snapshot(s.key)
	require.Equal(t, delivery.Ready, got.State)
	require.Equal(t, before.Generation, got.Generation)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestA3ASessionLostWith404IsHealedByTheEngineAndNotPushed(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{LostStatus: http.StatusNotFound})
	before := s.apply("")
	require.NoError(t, s.endpoint.Restart())
	s.requireToolWorks()
	s.probedAgain(3)
	got := s.Snapshot(s.key)
	require.Equal(t, delivery.Ready, got.State)
	require.Equal(t, before.Generation, got.Generation)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
	require.Equal(t, 2, s.endpoint.Sessions(), "the engine's new one and our new one")
}

// The hour that A5 speaks of is counted under skipped time, beside the workflow.
func TestA5AnEndpointThatRefusesIsAskedOnceAndLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{ProbeInterval: time.Second}, simulator.EndpointOptions{Token: "right"})
	want := s.want()
	want.Headers = map[string]string{"Authorization": "Bearer wrong"}
	s.key = s.Apply(want)
	failed := s.AwaitState(s.key, delivery.Failed, soon)
	require.Equal(t, health.CodeInvalidToken, failed.Failure.Code)
	s.lookedAgain(8)
	// The engine tries two transports, and the probe that tells the true reason is one request.
	require.LessOrEqual(t, s.endpoint.Count(simulator.AnyRequest), 3)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestA7SlowIsNotDown(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{Settings: map[string]string{"endpoint.timeout": "20s"}}, simulator.EndpointOptions{})
	s.endpoint.Inject("initialize", simulator.Always, simulator.Fault{Delay: 8 * time.Second})
	want := s.want()
	want.TimeoutMillis = 20000
	s.key = s.Apply(want)
	s.AwaitState(s.key, delivery.Ready, late)
	require.Equal(t, []delivery.State{delivery.Pending, delivery.Registering, delivery.Ready}, s.States(s.key))
	s.requireToolWorks()
}

func TestA7AManualProbeAndThePeriodicOneSayTheSame(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{Settings: map[string]string{"endpoint.timeout": "500ms"}}, simulator.EndpointOptions{})
	s.apply("")
	s.endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	periodic := s.AwaitState(s.key, delivery.Failed, soon)
	require.Equal(t, health.CodeEndpointUnreachable, periodic.Failure.Code)
	require.Contains(t, periodic.Failure.Cause(), "no complete answer within")
	manual, err := s.Connections.Probe(t.Context(), s.key, "", connection.Request{})
	require.NoError(t, err)
	require.Equal(t, periodic.Failure.Code, manual.FirstFailure.Code)
	s.endpoint.ClearFaults()
	manual, err = s.Connections.Probe(t.Context(), s.key, "", connection.Request{})
	require.NoError(t, err)
	require.True(t, manual.Usable, "a manual probe that passes updates the state: %v", manual.FirstFailure)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestA9RegisteringAgainAndAgainLeavesOneClientOfOurs(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{ProbeInterval: time.Hour}, simulator.EndpointOptions{})
	before := s.apply("")
	const times = 50
	for i := range times {
		require.NoError(t, s.Connections.MarkStale(t.Context(), s.key, "round "+strconv.Itoa(i)))
		testkit.Eventually(t, soon, func() bool { return len(s.engine.Registrations(s.key.Directory)) == i+2 }, "registered again")
	}
	s.Await(s.key, soon, "ready after the last round", func(got connection.Snapshot) bool {
		return got.State == delivery.Ready && got.Generation == before.Generation+times
	})
	require.Len(t, s.engine.Registrations(s.key.Directory), times+1)
	// The engine never ends a session; each registration leaves one. Ours was made once and is the only one of ours.
	require.Equal(t, times+1+1, s.endpoint.Count("initialize"))
	require.Equal(t, times+1+1, s.endpoint.Sessions())
	require.Equal(t, 1, s.engine.Streams(), "one watch of the engine")
}

func TestA10ACheckThatFailsForEverOnTheOldSessionReplacesIt(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{LostStatus: http.StatusUnprocessableEntity})
	before := s.apply("")
	s.endpoint.ForgetSessions()
	s.AwaitRepaired(s.key, before, soon)
	s.requireToolWorks()
	made := s.endpoint.Count("initialize")
	s.probedAgain(2)
	require.Equal(t, made, s.endpoint.Count("initialize"), "the new session stays")
}

func TestAnEngineThatSwallowsRequestsWhileItBootsIsRepaired(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	s.engine.SetHungBoot(3 * time.Second)
	s.engine.Kill()
	require.NoError(t, s.engine.Restart())
	s.AwaitRepaired(s.key, before, late)
	s.requireToolWorks()
}

func TestAnEngineBehindAPageIsUnreachableAndThenReadyWithoutAPush(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	before := s.apply("")
	s.engine.Inject(simulator.RouteStatus, simulator.Always, simulator.AnswerHTML(http.StatusOK))
	failed := s.AwaitState(s.key, delivery.Failed, soon)
	require.Equal(t, health.CodeEngineUnreachable, failed.Failure.Code)
	require.NotContains(t, failed.Failure.Cause(), "<html")
	s.engine.ClearFaults()
	again := s.AwaitState(s.key, delivery.Ready, soon)
	require.Equal(t, before.Generation, again.Generation)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1)
}

func TestAWrongEnginePasswordIsSaidAndMendedWithoutHelp(t *testing.T) {
	t.Parallel()
	s := &simulated{Stack: stack.New(t, stack.Options{})}
	var err error
	s.engine, err = simulator.NewEngine(simulator.EngineOptions{Password: "right-password"})
	require.NoError(t, err)
	t.Cleanup(s.engine.Close)
	s.endpoint, err = simulator.NewEndpoint(simulator.EndpointOptions{})
	require.NoError(t, err)
	t.Cleanup(s.endpoint.Close)
	want := s.want()
	want.EnginePassword = "wrong-password"
	s.key = s.Apply(want)
	failed := s.AwaitState(s.key, delivery.Failed, soon)
	require.Contains(t, failed.Failure.Cause(), "check the user name and password")
	attempts := failed.Attempts
	want.Directory = s.key.Directory
	want.EnginePassword = "right-password"
	s.Put(want) // nobody tells the workflow
	s.AwaitState(s.key, delivery.Ready, soon)
	require.LessOrEqual(t, s.Snapshot(s.key).Attempts, attempts+1)
}

func TestTwoWorkersSideBySideDeliverOnce(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	stop := s.StartWorker()
	before := s.apply("")
	const rounds = 4
	for range rounds {
		s.engine.Dispose(s.key.Directory)
		before = s.AwaitRepaired(s.key, before, soon)
	}
	stop()
	s.engine.Dispose(s.key.Directory)
	s.AwaitRepaired(s.key, before, soon)
	require.Len(t, s.engine.Registrations(s.key.Directory), 1+rounds+1)
}

func TestOneDeadServerBlocksNoneOfItsThirtyNeighbours(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	dead, err := simulator.NewEndpoint(simulator.EndpointOptions{})
	require.NoError(t, err)
	t.Cleanup(dead.Close)
	dead.Stop()
	want := s.want()
	want.URL, want.Name = dead.URL(), "dead"
	s.key = s.Apply(want)
	want.URL, want.Directory = s.endpoint.URL(), s.key.Directory
	before := make(map[delivery.Key]connection.Snapshot)
	const neighbours = 29
	for i := range neighbours {
		want.Name = "server-" + strconv.Itoa(i)
		before[s.Apply(want)] = connection.Snapshot{}
	}
	for key := range before {
		before[key] = s.AwaitState(key, delivery.Ready, late)
	}
	require.Equal(t, health.CodeEndpointUnreachable, s.AwaitState(s.key, delivery.Failed, soon).Failure.Code)
	s.engine.Dispose(s.key.Directory)
	for key, ready := range before {
		s.AwaitRepaired(key, ready, late)
	}
	pushes := map[string]int{}
	for _, each := range s.engine.Registrations(s.key.Directory) {
		pushes[each.Name]++
	}
	for key := range before {
		require.Equal(t, 2, pushes[key.Name], "%s was registered again once", key.Name)
	}
}
