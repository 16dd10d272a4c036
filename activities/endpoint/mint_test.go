package endpoint_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

const clientSecret = "canary-cl1ent-s3cret"

// mintRig is an endpoint that takes the live tokens of a token server, and a connection that gets its own from there.
type mintRig struct {
	*rig

	server   *simulator.TokenServer
	minter   *tokensource.Minter
	mints    *endpoint.MintActivities
	revision string
}

func newMintRig(t *testing.T, o simulator.TokenServerOptions) *mintRig {
	t.Helper()
	o.ClientSecret = clientSecret
	server, err := simulator.NewTokenServer(o)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	r := &mintRig{rig: newRig(t, simulator.EndpointOptions{Authorize: server.Live}), server: server}
	sources := tokensource.NewSources(tokensource.Options{Timeout: 5 * time.Second, Now: r.Clock.Now})
	t.Cleanup(sources.Close)
	r.minter = tokensource.NewMinter(tokensource.Params{
		Store: r.Store, Sources: sources, MAC: r.Keys.MAC(), Now: r.Clock.Now, Jitter: func() float64 { return 0 },
	})
	r.mints = endpoint.NewMintActivities(r.Resolver, r.minter, 2*time.Second)
	r.revision = r.Want(r.key, r.from(desired.TokenSource{
		Kind: desired.SourceRefreshToken, TokenURL: server.URL(), ClientID: "client", ClientSecret: clientSecret,
		RefreshToken: server.NewRefreshToken(),
	}))
	return r
}

// from is an edit that gets the token from a source.
func (r *mintRig) from(source desired.TokenSource) func(*store.Desired) {
	return func(d *store.Desired) {
		d.Config.Headers, d.TokenSource = map[string]string{"X-Extra": "canary-header"}, &source
	}
}

func (r *mintRig) mint(t *testing.T, in endpoint.MintRequest) (endpoint.MintResult, error) {
	t.Helper()
	in.Key = r.key
	if in.Revision == "" {
		in.Revision = r.revision
	}
	return peers.Try[endpoint.MintResult](t, r.mints, endpoint.MintName, in)
}

// token is the current one, as a delivery would send it.
func (r *mintRig) token(t *testing.T) string {
	t.Helper()
	got, err := r.Resolver.Resolve(t.Context(), r.key)
	require.NoError(t, err)
	return strings.TrimPrefix(got.Config.Headers["Authorization"], "Bearer ")
}

func TestAMintedTokenIsWhatIsDelivered(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{Lifetime: time.Hour})
	require.Empty(t, r.token(t))
	got, err := r.mint(t, endpoint.MintRequest{})
	require.NoError(t, err)
	require.Equal(t, int64(1), got.Sequence)
	require.True(t, got.Minted)
	require.Equal(t, r.Clock.Now().Add(time.Hour).UTC(), got.ExpiresAt.UTC())
	require.Equal(t, r.Clock.Now().Add(45*time.Minute).UTC(), got.RenewAt.UTC())
	require.True(t, r.server.Live(r.token(t)))
	require.Equal(t, 1, r.Endpoint.Count("tools/list"), "it was not verified")
	require.Equal(t, "canary-header", r.Endpoint.LastHeader().Get("X-Extra"))
	require.Zero(t, r.Endpoint.Sessions(), "the session of the verification was left open")

	again, err := r.mint(t, endpoint.MintRequest{})
	require.NoError(t, err)
	require.False(t, again.Minted)
	require.Equal(t, 1, r.server.Issued())
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(raw), r.token(t))
}

func TestAForcedMintBypassesWhatIsStored(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	for n := range int64(3) {
		got, err := r.mint(t, endpoint.MintRequest{Force: true})
		require.NoError(t, err)
		require.Equal(t, n+1, got.Sequence)
		require.True(t, got.Minted)
	}
	// Somebody who distrusts an older token than the current one gets the current one.
	for _, force := range []bool{false, true} {
		got, err := r.mint(t, endpoint.MintRequest{Sequence: 2, Force: force})
		require.NoError(t, err)
		require.Equal(t, int64(3), got.Sequence)
		require.False(t, got.Minted)
	}
	require.Equal(t, 3, r.server.Issued())
	require.Zero(t, r.server.Reused())
}

func TestATokenThatTheEndpointRefusesIsTheEndpointsFailure(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	r.Endpoint.SetAuthorize(func(string) bool { return false })
	_, err := r.mint(t, endpoint.MintRequest{})
	f := peers.RequireFailure(t, err, health.CodeInvalidToken)
	require.Equal(t, health.StageTransportAuth, f.Stage)
	require.Empty(t, r.token(t))
}

func TestAnEndpointThatIsDownIsUnreachable(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	r.Endpoint.Stop()
	for range 2 {
		_, err := r.mint(t, endpoint.MintRequest{})
		f := peers.RequireFailure(t, err, health.CodeEndpointUnreachable)
		require.True(t, f.Retryable)
		require.NotEmpty(t, f.Details["causes"])
	}
	require.NoError(t, r.Endpoint.Start())
	_, err := r.mint(t, endpoint.MintRequest{})
	require.NoError(t, err)
	require.Equal(t, 1, r.server.Issued())
}

func TestATokenSourceThatRefusesIsAFailureOfTheMint(t *testing.T) {
	t.Parallel()
	for code, fault := range map[health.Code]simulator.Fault{
		health.CodeTokenSourceUnreachable: simulator.AnswerStatus(http.StatusServiceUnavailable),
		health.CodeTokenSourceRejected:    {Status: http.StatusBadRequest, Body: `{"error":"invalid_grant"}`},
		health.CodeTokenSourceInvalid:     {Status: http.StatusOK, Body: `{"token_type":"Bearer"}`},
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			r := newMintRig(t, simulator.TokenServerOptions{})
			r.server.Inject(simulator.AnyRequest, simulator.Always, fault)
			_, err := r.mint(t, endpoint.MintRequest{})
			f := peers.RequireFailure(t, err, code)
			require.Equal(t, health.StageTokenMint, f.Stage)
			require.Equal(t, code == health.CodeTokenSourceUnreachable, f.Retryable)
			shown := fmt.Sprintf("%v %+v %#v %s", err, err, f, f.Details)
			require.NotContains(t, shown, "canary")
			require.Equal(t, 1, r.server.Count(simulator.AnyRequest))
		})
	}
}

func TestAChangedConfigHasNothingMinted(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	got, err := r.mint(t, endpoint.MintRequest{Revision: "an older one", Force: true})
	require.NoError(t, err)
	require.Equal(t, endpoint.MintResult{DesiredChanged: true}, got)
	require.Zero(t, r.server.Count(simulator.AnyRequest))
}

func TestAConfigWithoutASourceThatMintsNeedsNone(t *testing.T) {
	t.Parallel()
	r := newMintRig(t, simulator.TokenServerOptions{})
	for _, edit := range []func(*store.Desired){
		peers.Header("Authorization", "Bearer given"),
		r.from(desired.TokenSource{Kind: desired.SourceLiteral, Value: "given"}),
	} {
		r.revision = r.Want(r.key, edit)
		got, err := r.mint(t, endpoint.MintRequest{})
		require.NoError(t, err)
		require.Equal(t, endpoint.MintResult{}, got)
	}
	require.Zero(t, r.server.Count(simulator.AnyRequest))
}

func TestAMintEndsWithinItsTimeout(t *testing.T) {
	t.Parallel()
	minter := tokensource.NewMinter(tokensource.Params{Sources: tokensource.NewSources(tokensource.Options{})})
	require.Less(t, minter.Bound(), endpoint.MintTimeout)
}
