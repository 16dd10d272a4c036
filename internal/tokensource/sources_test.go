package tokensource_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

func TestEachSourceOfACredentialHasItsOwnTokenAndItsOwnGrant(t *testing.T) {
	t.Parallel()
	r, elsewhere := newRig(t, simulator.TokenServerOptions{}), newRig(t, simulator.TokenServerOptions{})
	one, later := r.process(nil), r.process(nil)
	a, b := r.refreshing(), elsewhere.refreshing()
	one.ensure(one.ask(a, 0))
	ofB := tokensource.Ask{Credential: credential, Source: b, Verify: elsewhere.verify}
	require.Equal(t, int64(1), one.ensure(ofB).Sequence, "tokens are counted by source")
	require.Equal(t, 1, elsewhere.server.Count(simulator.AnyRequest), "a foreign refresh token was sent")

	// Back to the first one, in a process that has never seen it.
	require.False(t, later.ensure(later.ask(a, 0)).Minted)
	require.Equal(t, int64(2), later.ensure(later.ask(a, 1)).Sequence)
	require.Zero(t, r.server.Reused(), "the first refresh token was used again")
	require.False(t, one.ensure(ofB).Minted)
	require.True(t, elsewhere.server.Live(one.row(b).AccessToken))
}

func TestALateMintOfAnOlderSourceLeavesTheNewerOneItsRefreshToken(t *testing.T) {
	t.Parallel()
	r, elsewhere := newRig(t, simulator.TokenServerOptions{}), newRig(t, simulator.TokenServerOptions{})
	old, current := r.process(nil), r.process(nil)
	a, b := r.refreshing(), elsewhere.refreshing()
	verifying, goOn := make(chan struct{}), make(chan struct{})
	late := old.ask(a, 0)
	late.Verify = func(ctx context.Context, token string) *health.Failure {
		close(verifying)
		<-goOn
		return r.verify(ctx, token)
	}
	got := make(chan answer, 1)
	go func() {
		out, err := old.Ensure(t.Context(), late)
		got <- answer{out, err}
	}()
	<-verifying
	ofB := tokensource.Ask{Credential: credential, Source: b, Verify: elsewhere.verify}
	current.ensure(ofB)
	kept := current.row(b)
	close(goOn)
	require.NoError(t, (<-got).err)
	require.Equal(t, kept, current.row(b))
	ofB.Sequence = kept.Sequence
	require.Equal(t, int64(2), current.ensure(ofB).Sequence)
	require.Zero(t, elsewhere.server.Reused())
	require.Zero(t, r.server.Reused())
}

func TestSourcesShareARowIfTheyShareAGrantAndNotOtherwise(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p := r.process(nil)
	key := func(edit func(*desired.TokenSource)) string {
		source := desired.TokenSource{
			Kind: desired.SourceRefreshToken, TokenURL: "https://auth.example/token", ClientID: "c", RefreshToken: "first",
		}
		edit(&source)
		digest, err := tokensource.Digest(p.mac, source)
		require.NoError(t, err)
		return tokensource.Key(credential, digest)
	}
	same := key(func(*desired.TokenSource) {})
	require.Regexp(t, "^"+credential+"#[0-9a-f]{64}$", same)
	require.Equal(t, same, key(func(s *desired.TokenSource) { s.ClientSecret, s.Scopes = "another", []string{"x"} }))
	require.NotEqual(t, same, key(func(s *desired.TokenSource) { s.RefreshToken = "of a new login" }))
	require.NotEqual(t, same, key(func(s *desired.TokenSource) { s.TokenURL = "https://other.example/token" }))
	env := func(name string) func(*desired.TokenSource) {
		return func(s *desired.TokenSource) { *s = desired.TokenSource{Kind: desired.SourceEnv, Variable: name} }
	}
	require.NotEqual(t, key(env("A")), key(env("B")))
	require.Equal(t, key(env("A")), key(func(s *desired.TokenSource) {
		env("A")(s)
		s.MarginSeconds = 60
	}))
}

func TestAnOutageBeforeATokenExpiresTakesNothingDown(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]simulator.Fault{
		"the token server fails": simulator.AnswerStatus(503), "it refuses": oauthError("invalid_grant"), "it resets": {Reset: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, simulator.TokenServerOptions{})
			p, source := r.process(nil), r.clientCredentials()
			first := p.ensure(p.ask(source, 0))
			r.server.Inject(simulator.AnyRequest, simulator.Always, outage)
			r.clock.Advance(46 * time.Minute)
			got := p.ensure(p.ask(source, 0))
			require.False(t, got.Minted)
			require.Equal(t, first.Sequence, got.Sequence)
			require.Equal(t, first.RenewAt.UTC(), got.RenewAt.UTC())
			require.Equal(t, 2, r.server.Count(simulator.AnyRequest), "it was not asked")

			_, err := p.Ensure(t.Context(), p.ask(source, first.Sequence))
			require.Error(t, err, "there is none that is newer")
			r.clock.Advance(14 * time.Minute)
			_, err = p.Ensure(t.Context(), p.ask(source, 0))
			require.Error(t, err, "it has expired")
		})
	}
}

func TestADistrustedTokenIsNotFallenBackTo(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	p.ensure(p.ask(source, 0))
	_, err := p.Drop(t.Context(), credential, source, 1)
	require.NoError(t, err)
	r.server.Stop()
	_, err = p.Ensure(t.Context(), p.ask(source, 0))
	requireFailure(t, err, health.CodeTokenSourceUnreachable)
}

func TestWhoGivesUpIsNotGivenAnOldToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.clientCredentials()
	p.ensure(p.ask(source, 0))
	r.clock.Advance(46 * time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	goOn := make(chan struct{})
	defer close(goOn)
	ask := p.ask(source, 0)
	ask.Verify = func(context.Context, string) *health.Failure {
		cancel()
		<-goOn
		return nil
	}
	_, err := p.Ensure(ctx, ask)
	require.ErrorIs(t, err, context.Canceled)
}
