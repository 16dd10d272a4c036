package endpoint_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

const (
	toolsList = "tools/list"
	soon      = 20 * time.Second
)

// rig is a prober with the other sides that it talks to.
type rig struct {
	*peers.Peers

	prober *endpoint.Prober
	key    store.Key
}

func newRig(t *testing.T, o simulator.EndpointOptions) *rig {
	t.Helper()
	r := &rig{Peers: peers.New(t, peers.Options{Endpoint: o})}
	r.prober = endpoint.NewProber(r.Store, 5*time.Second).WithClock(r.Clock.Now)
	r.key = r.Key()
	return r
}

// ask runs the activity for a revision.
func (r *rig) ask(t *testing.T, revision string) (endpoint.ProbeResult, error) {
	t.Helper()
	return peers.Try[endpoint.ProbeResult](t, endpoint.NewActivities(r.Resolver, r.prober), endpoint.ProbeName,
		endpoint.ProbeRequest{Key: r.key, Revision: revision})
}

func (r *rig) probe(t *testing.T, revision string) endpoint.ProbeResult {
	t.Helper()
	got, err := r.ask(t, revision)
	require.NoError(t, err)
	return got
}

func steps(got endpoint.ProbeResult) string {
	names := make([]string, 0, len(got.Steps))
	for _, s := range got.Steps {
		if !s.OK {
			names = append(names, "!"+s.Step)
			continue
		}
		names = append(names, s.Step)
	}
	return strings.Join(names, " ")
}

func TestCase31AGoodProbeShowsAllItsSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	got := r.probe(t, r.Want(r.key))
	require.Equal(t, "initialize initialized_notice tools_list", steps(got))
	require.Nil(t, got.Failure)
	require.Equal(t, 2, got.Count)
	require.Equal(t, []string{"search_capabilities", "execute_capability"}, got.Present)
	require.Equal(t, r.Clock.Now().UTC(), got.CheckedAt.UTC())
	require.Equal(t, got.CheckedAt.UTC(), got.LastOKAt.UTC())
}

func TestCase32ARefusalIsOneStepAndNamesItsKind(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		code   health.Code
	}{
		{http.StatusUnauthorized, health.CodeInvalidToken},
		{http.StatusForbidden, health.CodeWrongResource},
	} {
		t.Run(http.StatusText(tc.status), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.EndpointOptions{})
			r.Endpoint.Inject(simulator.AnyRequest, simulator.Always, simulator.AnswerStatus(tc.status))
			got := r.probe(t, r.Want(r.key))
			require.Equal(t, "!initialize", steps(got))
			require.Equal(t, tc.status, got.Steps[0].HTTPStatus)
			require.Equal(t, tc.code, got.Failure.Code)
			require.Equal(t, 1, r.Endpoint.Count(simulator.AnyRequest), "a refusal is not asked for twice")
			require.Nil(t, got.LastOKAt)
		})
	}
}

func TestCase33AfterAFailedFirstListTheHandshakeIsMadeAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	r.Endpoint.Inject(toolsList, 1, simulator.AnswerHTML(http.StatusBadGateway))
	got := r.probe(t, revision)
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.True(t, got.Failure.Retryable)
	require.Equal(t, "initialize initialized_notice tools_list", steps(r.probe(t, revision)))
}

func TestCase34AMissingToolIsNamed(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{Tools: []string{"search_capabilities"}})
	got := r.probe(t, r.Want(r.key, peers.Expecting("search_capabilities", "execute_capability")))
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.False(t, got.Failure.Retryable)
	require.Equal(t, []string{"search_capabilities"}, got.Present)
	require.Equal(t, []string{"execute_capability"}, got.Missing)
	require.Empty(t, r.Engine.Registrations(""))
}

func TestCase35AnUnreachableEndpointProvesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	well := r.probe(t, revision)
	r.Endpoint.Stop()
	r.Clock.Advance(time.Minute)
	got := r.probe(t, revision)
	require.True(t, got.Unreachable)
	require.Equal(t, health.CodeProbeUnreachable, got.Failure.Code)
	require.Empty(t, got.Missing)
	require.Contains(t, got.Failure.Cause(), "refused")
	require.Contains(t, jsonOf(t, got.Failure.Details["causes"]), "ECONNREFUSED")
	require.Equal(t, well.CheckedAt.UTC(), got.LastOKAt.UTC(), "it is still known when all was well")
	state := r.Peers.Probe(r.key)
	require.Equal(t, 1, state.Misses)
	require.NotEmpty(t, state.Canary, "what could not be asked is not forgotten")
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestCase36AJSONRPCErrorIsAFailureOnAFreshSessionAndANewSessionOnTheCanary(t *testing.T) {
	t.Parallel()
	refusal := simulator.Fault{
		Status: http.StatusOK, Body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"expected initialize"}}`,
	}
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	r.Endpoint.Inject(toolsList, 1, refusal)
	got := r.probe(t, revision)
	require.Equal(t, health.CodeToolsMissing, got.Failure.Code)
	require.False(t, got.Failure.Retryable)

	require.Nil(t, r.probe(t, revision).Failure)
	r.Endpoint.Inject(toolsList, 1, refusal)
	got = r.probe(t, revision)
	require.Nil(t, got.Failure)
	require.Equal(t, "!tools_list initialize initialized_notice tools_list", steps(got))
}

func TestCase37ConcurrentProbesShareOneAndLaterOnesReuseItsSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	release := make(chan struct{})
	r.Endpoint.Inject("initialize", 1, simulator.Fault{Until: release})
	var asked sync.WaitGroup
	results := make([]endpoint.Outcome, 6)
	errs := make([]error, 6)
	want, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	for i := range results {
		asked.Go(func() { results[i], errs[i] = r.prober.Probe(t.Context(), want) })
	}
	testkit.Eventually(t, soon, func() bool { return r.Endpoint.Count("initialize") == 1 }, "the probe is under way")
	close(release)
	asked.Wait()
	for i := range results {
		require.NoError(t, errs[i])
		require.Nil(t, results[i].Failure)
	}
	// Whoever came after the end of the shared probe asked in its session.
	require.Equal(t, 1, r.Endpoint.Count("initialize"))
	require.Equal(t, 1, r.Endpoint.Sessions())
	require.Equal(t, "tools_list", steps(r.probe(t, revision)))
	require.Equal(t, 1, r.Endpoint.Sessions())
}

func TestACallerThatGivesUpTakesNobodyElsesAnswerAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	r.Want(r.key)
	want, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	release := make(chan struct{})
	r.Endpoint.Inject("initialize", 1, simulator.Fault{Until: release})
	first, giveUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := r.prober.Probe(first, want)
		gone <- err
	}()
	testkit.Eventually(t, soon, func() bool { return r.Endpoint.Count("initialize") == 1 }, "the probe is under way")
	giveUp()
	require.ErrorIs(t, <-gone, context.Canceled)
	answer := make(chan endpoint.Outcome, 1)
	go func() {
		got, err := r.prober.Probe(t.Context(), want)
		if err == nil {
			answer <- got
		}
		close(answer)
	}()
	close(release)
	require.Nil(t, (<-answer).Failure)
	require.Equal(t, 1, r.Endpoint.Count("initialize"))
	require.Zero(t, r.Peers.Probe(r.key).Misses)
}

func TestCase42AProbeAsksOncePerPageAndHoldsNoStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{SSE: true, PageSize: 1, Tools: []string{"a", "b", "c"}})
	got := r.probe(t, r.Want(r.key))
	require.Nil(t, got.Failure)
	require.Equal(t, 3, got.Count)
	require.Equal(t, 1, r.Endpoint.Count("initialize"))
	require.Equal(t, 1, r.Endpoint.Count("notifications/initialized"))
	require.Equal(t, 3, r.Endpoint.Count(toolsList))
	require.Zero(t, r.Endpoint.Count(simulator.GetStream))
}

func TestACanaryBelongsToOneRevision(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	require.Nil(t, r.probe(t, r.Want(r.key, peers.Header("Authorization", "Bearer first"))).Failure)
	require.Equal(t, "initialize initialized_notice tools_list",
		steps(r.probe(t, r.Want(r.key, peers.Header("Authorization", "Bearer second")))))
	require.Equal(t, "Bearer second", r.Endpoint.LastHeader().Get("Authorization"))
}

func TestACanaryThatCannotBeUnsealedIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	require.Nil(t, r.probe(t, revision).Failure)
	r.Damage(`UPDATE connection_runtime SET canary = zeroblob(80)`)
	require.Equal(t, "initialize initialized_notice tools_list", steps(r.probe(t, revision)))
	require.Equal(t, "tools_list", steps(r.probe(t, revision)))
}

func TestTheProbeSendsWhatTheEngineSends(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	require.Nil(t, r.probe(t, r.Want(r.key, peers.Header("X-Custom", "as configured"))).Failure)
	require.Equal(t, "as configured", r.Endpoint.LastHeader().Get("X-Custom"))
}

func TestAnotherRevisionIsNotProbed(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	require.True(t, r.probe(t, "an older one").DesiredChanged)
	_, err := r.Store.DeleteDesired(t.Context(), r.key)
	require.NoError(t, err)
	require.True(t, r.probe(t, revision).DesiredChanged)
	require.Zero(t, r.Endpoint.Count(simulator.AnyRequest))
}

func TestAConfigThatCannotBeReadIsNotProbed(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	r.Damage(`UPDATE connection_desired SET config = zeroblob(80)`)
	_, err := r.ask(t, revision)
	require.Contains(t, peers.RequireFailure(t, err, health.CodeDesiredUnreadable).Cause(), r.key.String())
	require.Zero(t, r.Endpoint.Count(simulator.AnyRequest))
}

func TestMissesAreCountedUntilAProbeIsWell(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	revision := r.Want(r.key)
	r.Endpoint.Inject(simulator.AnyRequest, 3, simulator.Fault{Reset: true})
	for misses := 1; misses <= 3; misses++ {
		require.NotNil(t, r.probe(t, revision).Failure)
		require.Equal(t, misses, r.Peers.Probe(r.key).Misses)
	}
	require.Nil(t, r.probe(t, revision).Failure)
	require.Zero(t, r.Peers.Probe(r.key).Misses)
}

// keeper is the resolver's and the prober's store in one whose writes fail.
type keeper struct{ endpoint.Store }

func (keeper) PutProbe(context.Context, store.Key, store.ProbeState) error {
	return context.DeadlineExceeded
}

func TestAProbeThatCannotBeRememberedIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.EndpointOptions{})
	r.Want(r.key)
	r.prober = endpoint.NewProber(keeper{r.Store}, 5*time.Second)
	want, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	_, err = r.prober.Probe(t.Context(), want)
	require.ErrorContains(t, err, "write probe state")
}
