package e2e_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	activity "github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// unhurried is for what takes seconds, or a killed worker's activity timeout of 45 s, and much more on a busy machine.
const unhurried = 4 * time.Minute

// engines bounds how many real engines run at once beside the shared one: each takes half a gigabyte and, while it
// boots, a core. Only tests without parallel subtests may hold one: a holder must never wait for another test's turn.
var engines = make(chan struct{}, 2)

// engineOfItsOwn starts a real engine for a test that does to it what others would not survive.
func engineOfItsOwn(t *testing.T, env ...string) *testkit.Service {
	t.Helper()
	engines <- struct{}{}
	t.Cleanup(func() { <-engines })
	return testkit.RealEngine(t, env...)
}

// realStack is a stack with a real engine, and a client by which a test asks the engine itself.
type realStack struct {
	*stack.Stack

	t      *testing.T
	engine *testkit.Service
	ask    *engineapi.Client
	id     string
}

func newReal(t *testing.T, engine *testkit.Service, o stack.Options) *realStack {
	t.Helper()
	r := &realStack{Stack: stack.New(t, o), t: t, engine: engine}
	// Several stacks may use one engine: each watches it under a name of its own.
	r.id = "engine-" + testkit.UniqueName()
	r.useClient("")
	return r
}

// useClient makes the client that asks the engine, with a password where it wants one.
func (r *realStack) useClient(password string) {
	r.t.Helper()
	client, err := engineapi.New(engineapi.Options{
		BaseURL: r.engine.BaseURL(), Password: password, Timeout: unhurried,
	})
	require.NoError(r.t, err)
	r.t.Cleanup(client.Close)
	r.ask = client
}

// want is an endpoint under the name "cloud" in a directory of its own.
func (r *realStack) want(endpoint string) stack.Want {
	r.t.Helper()
	return stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", Directory: directory(r.t),
		EngineURL: r.engine.BaseURL(), EngineID: r.id, URL: endpoint, TimeoutMillis: 5000,
	}
}

// deliver applies what is wanted and waits until it is ready by our word and by the engine's.
func (r *realStack) deliver(w stack.Want) (delivery.Key, connection.Snapshot) {
	r.t.Helper()
	key := r.Apply(w)
	got := r.AwaitState(key, delivery.Ready, unhurried)
	require.Equal(r.t, *got.DesiredRevision, *got.AppliedRevision)
	require.Equal(r.t, engineapi.StatusConnected, r.status(key))
	return key, got
}

// status is the engine's own word for a connection; empty when it has none of the name.
func (r *realStack) status(key delivery.Key) string {
	r.t.Helper()
	statuses, err := r.ask.Statuses(r.t.Context(), key.Directory)
	require.NoError(r.t, err)
	return statuses[key.Name].Status
}

// dispose drops what the engine holds of a directory.
func (r *realStack) dispose(directory string) {
	r.t.Helper()
	require.NoError(r.t, r.ask.DisposeInstance(r.t.Context(), directory))
}

// works reports whether the engine's own session at the endpoint works: the engine lists the endpoint's resources by it.
// The engine's status says nothing of that.
func (r *realStack) works(key delivery.Key) bool {
	r.t.Helper()
	resources, err := r.ask.Resources(r.t.Context(), key.Directory)
	require.NoError(r.t, err)
	for _, resource := range resources {
		if resource.Client == key.Name {
			return true
		}
	}
	return false
}

// requireLastStates holds the end of the way that the connection took against what is wanted.
func (r *realStack) requireLastStates(key delivery.Key, want ...delivery.State) {
	r.t.Helper()
	states := r.States(key)
	require.GreaterOrEqual(r.t, len(states), len(want))
	require.Equal(r.t, want, states[len(states)-len(want):], r.History(key))
}

// directory is an empty folder whose path holds no symbolic link.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func scripted(t *testing.T, o simulator.EndpointOptions) *simulator.Endpoint {
	t.Helper()
	endpoint, err := simulator.NewEndpoint(o)
	require.NoError(t, err)
	t.Cleanup(endpoint.Close)
	return endpoint
}

// TestRealEngine holds the claims that need no engine of their own: they differ by their directories.
func TestRealEngine(t *testing.T) {
	t.Parallel()
	engine := testkit.RealEngine(t)
	for _, tc := range []struct {
		claim string
		holds func(*testing.T, *testkit.Service)
	}{
		{"a server is delivered", delivered},
		{"an instance that is disposed of is repaired", disposedInstance},
		{"an endpoint that is down is degraded, then failed, then ready with no help", endpointDown},
		{"an endpoint restarted without its sessions is delivered again", endpointRestarted},
		{"a rotated bearer is named once and not hammered", rotatedBearer},
		{"a push to a hanging server loses no good client that follows", hangingServerReplaced},
		{"a push abandoned by its worker loses no good client that follows", abandonedPush},
		{"several servers in several directories are repaired apart", severalServers},
		{"a symlinked directory is the directory it leads to", symlinkedDirectory},
		{"a worker killed with the push in flight is finished by the next", killedInFlight},
		{"a worker killed between push and probe is finished by the next", killedBeforeProbe},
	} {
		t.Run(tc.claim, func(t *testing.T) {
			t.Parallel()
			tc.holds(t, engine)
		})
	}
}

func TestRealEngineKilledAndStartedIsRepaired(t *testing.T) {
	t.Parallel()
	engine := engineOfItsOwn(t)
	r := newReal(t, engine, stack.Options{})
	key, before := r.deliver(r.want(testkit.EverythingServer(t).MCPURL()))
	engine.Kill()
	down := r.AwaitState(key, delivery.Failed, unhurried)
	require.Equal(t, health.CodeEngineUnreachable, down.Failure.Code)
	require.Contains(t, down.Failure.Cause(), "refused")
	engine.Restart()
	r.AwaitRepaired(key, before, unhurried)
	require.Equal(t, engineapi.StatusConnected, r.status(key))
	require.True(t, r.works(key))
}

func TestRealEngineWithPasswordIsServedAndAWrongOneIsNamed(t *testing.T) {
	t.Parallel()
	const password = "of-the-engine"
	r := newReal(t, engineOfItsOwn(t, "OPENCODE_SERVER_PASSWORD="+password), stack.Options{})
	r.useClient(password)
	want := r.want(testkit.EverythingServer(t).MCPURL())
	want.EnginePassword = "another-one"
	key := r.Apply(want)
	refused := r.AwaitState(key, delivery.Failed, unhurried)
	require.False(t, refused.Failure.Retryable, "a password does not become right by itself")

	want.EnginePassword = password
	r.Apply(want)
	before := r.AwaitState(key, delivery.Ready, unhurried)
	require.Equal(t, engineapi.StatusConnected, r.status(key))
	r.dispose(key.Directory)
	r.AwaitRepaired(key, before, unhurried)
	require.Equal(t, engineapi.StatusConnected, r.status(key))
}

// untilPast polls a claim until a moment is past, and fails the test when it does not hold at any time before.
func untilPast(t *testing.T, moment time.Time, claim string, holds func() bool) {
	t.Helper()
	testkit.Eventually(t, time.Until(moment)+unhurried, func() bool {
		require.True(t, holds(), claim)
		return time.Now().After(moment)
	}, "the moment is past")
}

// looks is how often the look that is under way was tried; 0 when none is.
func (r *realStack) looks(key delivery.Key) int32 {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), soon)
	defer cancel()
	described, err := r.Temporal.DescribeWorkflow(ctx, connection.ID(key), "")
	require.NoError(r.t, err)
	for _, pending := range described.RawResponse.GetPendingActivities() {
		if pending.GetActivityType().GetName() == activity.InspectName {
			return pending.GetAttempt()
		}
	}
	return 0
}
