package endpoint_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// share makes the rig's config that of an account, and returns a request for each of its workspaces.
func (r *mintRig) share(t *testing.T, n int) []endpoint.MintRequest {
	t.Helper()
	own, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	_, err = r.Store.PutAccountDesired(t.Context(), store.AccountDesired{
		Account: "acme", Name: r.key.Name, Profile: own.Profile, Config: own.Config, Metadata: own.Metadata,
		TokenSource: own.TokenSource,
	})
	require.NoError(t, err)
	requests := make([]endpoint.MintRequest, n)
	for i := range requests {
		key := r.key
		key.Workspace, key.Directory = "w"+strconv.Itoa(i), filepath.Join(r.key.Directory, strconv.Itoa(i))
		_, err := r.Store.PutWorkspace(t.Context(), store.Workspace{
			ID: key.Workspace, Directory: key.Directory, EngineID: peers.EngineID, Account: "acme",
		})
		require.NoError(t, err)
		got, err := r.Resolver.Resolve(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, "acme", got.Account)
		requests[i] = endpoint.MintRequest{Key: key, Revision: got.Revision}
	}
	return requests
}

func TestConnectionsThatShareACredentialAndAreMarkedStaleTogetherHaveOneTokenMinted(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	requests := r.share(t, 8)
	for _, in := range requests {
		got, err := peers.Try[endpoint.MintResult](t, r.mints, endpoint.MintName, in)
		require.NoError(t, err)
		require.Equal(t, int64(1), got.Sequence)
	}
	require.Equal(t, 1, r.server.Issued())
	for _, in := range requests {
		in.Force, in.Sequence = true, 1
		got, err := peers.Try[endpoint.MintResult](t, r.mints, endpoint.MintName, in)
		require.NoError(t, err)
		require.Equal(t, int64(2), got.Sequence)
		r.Clock.Advance(100 * time.Millisecond)
	}
	require.Equal(t, 2, r.server.Issued())
	require.Zero(t, r.server.Reused())
}

func TestConnectionsThatShareACredentialHaveOneTokenRefused(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	requests := r.share(t, 8)
	r.Endpoint.SetAuthorize(func(string) bool { return false })
	refused := func(in endpoint.MintRequest) {
		_, err := peers.Try[endpoint.MintResult](t, r.mints, endpoint.MintName, in)
		f := peers.RequireFailure(t, err, health.CodeInvalidToken)
		require.False(t, f.Retryable)
	}
	for _, in := range requests {
		refused(in)
		r.Clock.Advance(time.Second)
	}
	require.Equal(t, 1, r.server.Issued())
	requests[0].Force = true
	refused(requests[0])
	require.Equal(t, 2, r.server.Issued(), "who distrusts what there is wants to know anew")
	r.Clock.Advance(10 * time.Second)
	refused(requests[1])
	require.Equal(t, 3, r.server.Issued())
}

func TestARefusedTokenIsRecognisedAndNotRevealed(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	var shown string
	r.Endpoint.SetAuthorize(func(token string) bool {
		shown = token
		return false
	})
	_, err := r.mint(t, endpoint.MintRequest{})
	f := peers.RequireFailure(t, err, health.CodeInvalidToken)
	digest, err := tokensource.TokenDigest(r.Keys.MAC(), shown)
	require.NoError(t, err)
	require.Regexp(t, "^[0-9a-f]{16}$", digest)
	require.Equal(t, digest, f.Details["refusedDigest"])

	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(raw), shown)
	var again health.Failure
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, f, again)
	clean, ok := redact.Value(f.Details).(map[string]any)
	require.True(t, ok)
	require.Equal(t, digest, clean["refusedDigest"])
}

func TestAFailureOfAnotherEndpointIsNotThatOfACorrectedConfig(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	source, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	_, err = r.mint(t, endpoint.MintRequest{Revision: r.Want(r.key, r.from(*source.TokenSource), func(d *store.Desired) {
		d.Config.URL += "/wrong"
	})})
	require.Error(t, err)
	got, err := r.mint(t, endpoint.MintRequest{Revision: r.Want(r.key, r.from(*source.TokenSource))})
	require.NoError(t, err)
	require.True(t, got.Minted)
}

func TestALongMintSaysThatItsWorkerIsAlive(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{Delay: 3500 * time.Millisecond})
	env := peers.NewEnvironment(r.mints)
	beats := make(chan struct{}, 8)
	env.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { beats <- struct{}{} })
	_, err := env.ExecuteActivity(endpoint.MintName, endpoint.MintRequest{Key: r.key, Revision: r.revision})
	require.NoError(t, err)
	require.Len(t, beats, 1)
}

func TestACancelledMintReturnsAtOnceAndItsTokenIsKept(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{Delay: 2 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	env := peers.NewEnvironment(r.mints)
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	done := make(chan error, 1)
	go func() {
		_, err := env.ExecuteActivity(endpoint.MintName, endpoint.MintRequest{Key: r.key, Revision: r.revision})
		done <- err
	}()
	testkit.Eventually(t, 10*time.Second, func() bool { return r.server.Count(simulator.AnyRequest) == 1 }, "the token server is asked")
	cancel()
	require.Error(t, <-done)
	require.Zero(t, r.server.Issued(), "it waited for the token server")
	testkit.Eventually(t, 10*time.Second, func() bool { return r.token(t) != "" }, "the token is there")
	require.True(t, r.server.Live(r.token(t)))
	got, err := r.mint(t, endpoint.MintRequest{})
	require.NoError(t, err)
	require.False(t, got.Minted)
	require.Zero(t, r.server.Reused())
}
