package tokensource_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

func TestACurrentTokenIsTakenAndNothingIsMinted(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	first := p.ensure(p.ask(source, 0))
	require.True(t, first.Minted)
	require.Equal(t, int64(1), first.Sequence)
	require.Equal(t, r.clock.Now().Add(time.Hour).UTC(), first.ExpiresAt.UTC())
	require.Equal(t, r.clock.Now().Add(45*time.Minute).UTC(), first.RenewAt.UTC())

	again := p.ensure(p.ask(source, 0))
	require.False(t, again.Minted)
	require.Equal(t, first.Sequence, again.Sequence)
	require.Equal(t, first.RenewAt.UTC(), again.RenewAt.UTC())
	require.Equal(t, 1, r.server.Count(simulator.AnyRequest))
	require.True(t, r.server.Live(p.row(source).AccessToken))
}

func TestEachAskForANewerTokenMintsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	for n := range int64(4) {
		got := p.ensure(p.ask(source, n))
		require.True(t, got.Minted)
		require.Equal(t, n+1, got.Sequence)
	}
	require.Equal(t, 4, r.server.Count(simulator.AnyRequest))
	require.Zero(t, r.server.Reused())
}

func TestATokenIsRenewedWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	p.ensure(p.ask(source, 0))
	r.clock.Advance(45*time.Minute - time.Second)
	require.False(t, p.ensure(p.ask(source, 0)).Minted)
	r.clock.Advance(time.Second)
	renewed := p.ensure(p.ask(source, 0))
	require.True(t, renewed.Minted)
	require.Equal(t, int64(2), renewed.Sequence)
}

func TestATokenThatItsEndpointRefusesDoesNotBecomeCurrent(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	before := p.row(source)

	ask := p.ask(source, 1)
	ask.Verify = refuseAll
	_, err := p.Ensure(t.Context(), ask)
	requireFailure(t, err, health.CodeInvalidToken)
	after := p.row(source)
	require.NotEqual(t, before.RefreshToken, after.RefreshToken, "the rotated refresh token is lost")
	after.RefreshToken = before.RefreshToken
	require.Equal(t, before, after)

	r.clock.Advance(10 * time.Second)
	require.Equal(t, int64(2), p.ensure(p.ask(source, 1)).Sequence)
	require.Zero(t, r.server.Reused())
}

func refuseAll(context.Context, string) *health.Failure {
	f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "the endpoint refused the credentials")
	return &f
}

func TestAnEndpointThatIsDownHasOneTokenMintedForIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	var down atomic.Bool
	down.Store(true)
	ask := p.ask(source, 0)
	ask.Verify = func(ctx context.Context, token string) *health.Failure {
		if down.Load() {
			f := health.EndpointUnreachable("no route", nil)
			return &f
		}
		return r.verify(ctx, token)
	}
	for range 5 {
		_, err := p.Ensure(t.Context(), ask)
		require.True(t, requireFailure(t, err, health.CodeEndpointUnreachable).Failure.Retryable)
		r.clock.Advance(time.Minute)
	}
	require.Equal(t, 1, r.server.Issued())
	down.Store(false)
	require.Equal(t, int64(1), p.ensure(ask).Sequence)
	require.Equal(t, 1, r.server.Issued())
	require.True(t, r.server.Live(p.row(source).AccessToken))
}

func TestATokenThatWaitedDoesNotReplaceWhatAnotherProcessKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	one, other, source := r.process(nil), r.process(nil), r.refreshing()
	down := func(context.Context, string) *health.Failure {
		f := health.EndpointUnreachable("no route", nil)
		return &f
	}
	for _, p := range []*process{one, other} {
		ask := p.ask(source, 0)
		ask.Verify = down
		_, err := p.Ensure(t.Context(), ask)
		requireFailure(t, err, health.CodeEndpointUnreachable)
	}
	newest := one.row(source).RefreshToken
	one.ensure(one.ask(source, 0))
	require.NotEqual(t, newest, one.row(source).RefreshToken)
	other.ensure(other.ask(source, 1))
	require.Zero(t, r.server.Reused())
}

func TestAServerThatAsksToBeLeftAloneIs(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{Status: 429, Header: http.Header{"Retry-After": {"30"}}})
	for range 3 {
		_, err := p.Ensure(t.Context(), p.ask(source, 0))
		require.Positive(t, requireFailure(t, err, health.CodeTokenSourceUnreachable).RetryAfter)
		r.clock.Advance(9 * time.Second)
	}
	require.Equal(t, 1, r.server.Count(simulator.AnyRequest))
	r.clock.Advance(3 * time.Second)
	p.ensure(p.ask(source, 0))
	require.Equal(t, 2, r.server.Count(simulator.AnyRequest))
}

func TestAFailureToMintLeavesWhatIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	before := p.row(source)
	for _, fault := range []simulator.Fault{simulator.AnswerStatus(500), oauthError("invalid_grant"), {Reset: true}} {
		r.server.Inject(simulator.AnyRequest, 1, fault)
		_, err := p.Ensure(t.Context(), p.ask(source, 1))
		require.Error(t, err)
		require.Equal(t, before, p.row(source))
	}
	require.Equal(t, int64(2), p.ensure(p.ask(source, 1)).Sequence)
}

func TestAFileThatDidNotChangeIsNoNewToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p := r.process(nil)
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("first\n"), 0o600))
	source := desired.TokenSource{Kind: desired.SourceFile, Path: path}
	asked := 0
	ask := func(sequence int64) tokensource.Ask {
		return tokensource.Ask{Credential: credential, Source: source, Sequence: sequence, Verify: func(context.Context, string) *health.Failure {
			asked++
			return nil
		}}
	}
	require.Equal(t, int64(1), p.ensure(ask(0)).Sequence)
	same := p.ensure(ask(1))
	require.Equal(t, int64(1), same.Sequence)
	require.False(t, same.Minted)
	require.Equal(t, 2, asked, "a distrusted token is verified again")

	require.NoError(t, os.WriteFile(path, []byte("second\n"), 0o600))
	require.Equal(t, int64(1), p.ensure(ask(0)).Sequence, "it is read when it is due")
	require.Equal(t, int64(2), p.ensure(ask(1)).Sequence)
	require.Equal(t, "second", p.row(source).AccessToken)

	_, err := p.Drop(t.Context(), credential, source, 2)
	require.NoError(t, err)
	require.Equal(t, int64(3), p.ensure(ask(2)).Sequence, "one that was dropped is delivered again")
}

func TestAFileThatIsDueAndDidNotChangeIsNotReadAllTheTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p := r.process(nil)
	path := filepath.Join(t.TempDir(), "token")
	expires := r.clock.Now().Add(8 * time.Second)
	require.NoError(t, os.WriteFile(path, []byte(jwtUntil(expires)), 0o600))
	ask := tokensource.Ask{Credential: credential, Source: desired.TokenSource{Kind: desired.SourceFile, Path: path}}
	require.Equal(t, expires.UTC(), p.ensure(ask).ExpiresAt.UTC())
	r.clock.Advance(7 * time.Second)
	late := p.ensure(ask)
	require.Equal(t, int64(1), late.Sequence)
	require.Equal(t, r.clock.Now().Add(5*time.Second).UTC(), late.RenewAt.UTC())
}

func TestANewClientSecretOrScopeKeepsTheGrant(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	r.server.SetClientSecret("canary-another")
	source.ClientSecret, source.Scopes = "canary-another", []string{"more"}
	require.Equal(t, int64(2), p.ensure(p.ask(source, 0)).Sequence)
	require.Zero(t, r.server.Reused(), "the first refresh token was used again")

	source.MarginSeconds = 60
	require.False(t, p.ensure(p.ask(source, 0)).Minted, "the margin is no part of the source")
}

func TestADamagedRowIsMintedAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	p.ensure(p.ask(source, 0))
	r.damage(`UPDATE credential_token SET access_token = zeroblob(80)`)
	require.Equal(t, int64(2), p.ensure(p.ask(source, 0)).Sequence)
}

func TestACallerWhoGivesUpDoesNotTakeTheMintAlong(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	ctx, cancel := context.WithCancel(t.Context())
	ask := p.ask(source, 0)
	verifying, goOn := make(chan struct{}), make(chan struct{})
	ask.Verify = func(ctx context.Context, token string) *health.Failure {
		close(verifying)
		<-goOn
		return r.verify(ctx, token)
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.Ensure(ctx, ask)
		done <- err
	}()
	<-verifying
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	close(goOn)
	require.Equal(t, int64(1), p.ensure(p.ask(source, 0)).Sequence)
	require.Equal(t, 1, r.server.Issued())
}
