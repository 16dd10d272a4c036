package tokensource_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

func TestA4FiveCallsWithAnExpiredTokenRefreshOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, source := r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	expired := p.row(source).AccessToken
	r.clock.Advance(2 * time.Hour)

	for _, got := range atOnce(5, func(int) (tokensource.Outcome, error) { return p.Ensure(t.Context(), p.ask(source, 1)) }) {
		require.NoError(t, got.err)
		require.Equal(t, int64(2), got.Sequence)
	}
	require.Equal(t, 2, r.server.Count(simulator.GrantRefreshToken))
	require.Zero(t, r.server.Reused())
	require.NotEqual(t, expired, p.row(source).AccessToken)
	require.True(t, r.server.Live(p.row(source).AccessToken))
}

func TestA4CallsInTwoProcessesRefreshOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	processes, source := []*process{r.process(nil), r.process(nil)}, r.refreshing()
	processes[0].ensure(processes[0].ask(source, 0))
	r.clock.Advance(2 * time.Hour)
	r.server.Inject(simulator.AnyRequest, 1, simulator.Fault{Delay: 200 * time.Millisecond})

	minted := 0
	for _, got := range atOnce(10, func(i int) (tokensource.Outcome, error) {
		p := processes[i%2]
		return p.Ensure(t.Context(), p.ask(source, 1))
	}) {
		require.NoError(t, got.err)
		require.Equal(t, int64(2), got.Sequence)
		if got.Minted {
			minted++
		}
	}
	require.LessOrEqual(t, minted, 5, "both processes minted")
	require.Equal(t, 2, r.server.Count(simulator.GrantRefreshToken))
	require.Zero(t, r.server.Reused())
}

func TestA4ALosersFailureDeletesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	winner, loser, source := r.process(nil), r.process(nil), r.refreshing()
	winner.ensure(winner.ask(source, 0))
	winner.ensure(winner.ask(source, 1))
	before := winner.row(source)

	// A loser with an old refresh token, and one whose endpoint refuses whatever it brings.
	r.server.Inject(simulator.AnyRequest, 1, oauthError("invalid_grant"))
	_, err := loser.Ensure(t.Context(), loser.ask(source, 2))
	requireFailure(t, err, health.CodeTokenSourceRejected)
	require.Equal(t, before, winner.row(source))
	ask := loser.ask(source, 2)
	ask.Verify = refuseAll
	_, err = loser.Ensure(t.Context(), ask)
	requireFailure(t, err, health.CodeInvalidToken)
	require.Equal(t, before.AccessToken, winner.row(source).AccessToken)
	require.False(t, winner.row(source).Dropped)
	require.True(t, r.server.Live(winner.row(source).AccessToken))
	require.False(t, winner.ensure(winner.ask(source, 1)).Minted)
}

// killed is a store that a process does not get to reach any more from a given call on, its lease's release included.
type killed struct {
	*store.Store

	before string
	dead   bool
}

func (k *killed) dies(at string) bool {
	k.dead = k.dead || at == k.before
	return k.dead
}

func (k *killed) AmendToken(ctx context.Context, lease store.TokenLease, token store.Token) error {
	if k.dies("amend") {
		return errKilled
	}
	return k.Store.AmendToken(ctx, lease, token)
}

func (k *killed) PutToken(ctx context.Context, lease store.TokenLease, token store.Token) error {
	if k.dies("put") {
		return errKilled
	}
	return k.Store.PutToken(ctx, lease, token)
}

func (k *killed) ReleaseTokenLease(ctx context.Context, lease store.TokenLease) error {
	if k.dead {
		return errKilled
	}
	return k.Store.ReleaseTokenLease(ctx, lease)
}

func TestAProcessThatIsKilledBeforeItsTokenIsCurrentLosesNoRefreshToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	dying := r.process(func(s *store.Store) tokensource.Store { return &killed{Store: s, before: "put"} })
	heir, source := r.process(nil), r.refreshing()
	_, err := dying.Ensure(t.Context(), dying.ask(source, 0))
	require.ErrorIs(t, err, errKilled)
	require.NotEmpty(t, heir.row(source).RefreshToken)
	require.True(t, heir.row(source).Dropped, "there is no access token yet")

	// The lease is left behind: the heir waits for it to run out.
	got := make(chan answer, 1)
	go func() {
		out, err := heir.Ensure(t.Context(), heir.ask(source, 0))
		got <- answer{out, err}
	}()
	require.False(t, testkit.Poll(t, 300*time.Millisecond, func() bool { return len(got) > 0 }), "it did not wait for the lease")
	r.clock.Advance(time.Minute)
	select {
	case a := <-got:
		require.NoError(t, a.err)
		require.Equal(t, int64(1), a.Sequence)
	case <-time.After(soon):
		t.Fatal("nobody took the lease over")
	}
	require.Zero(t, r.server.Reused())
	require.True(t, r.server.Live(heir.row(source).AccessToken))
}

func TestAStoreThatComesBackIsGivenTheRefreshTokenThatItMissed(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	stuck := &killed{before: "amend"}
	p := r.process(func(s *store.Store) tokensource.Store {
		stuck.Store = s
		return stuck
	})
	source := r.refreshing()
	_, err := p.Ensure(t.Context(), p.ask(source, 0))
	require.ErrorIs(t, err, errKilled)
	stuck.before, stuck.dead = "", false
	r.clock.Advance(time.Minute)
	require.Equal(t, int64(1), p.ensure(p.ask(source, 0)).Sequence)
	require.Zero(t, r.server.Reused())
	require.Equal(t, 1, r.server.Issued())
}

func TestADropIsSeenByTheOtherProcessAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	one, other, source := r.process(nil), r.process(nil), r.clientCredentials()
	one.ensure(one.ask(source, 0))
	require.False(t, other.ensure(other.ask(source, 0)).Minted)
	dropped, err := one.Drop(t.Context(), credential, source, 0)
	require.NoError(t, err)
	require.True(t, dropped)
	require.True(t, other.row(source).Dropped)
	got := other.ensure(other.ask(source, 0))
	require.True(t, got.Minted)
	require.Equal(t, int64(2), got.Sequence)

	dropped, err = one.Drop(t.Context(), credential, source, 1)
	require.NoError(t, err)
	require.False(t, dropped, "a newer token was dropped")
	require.False(t, one.ensure(one.ask(source, 1)).Minted)
}

func TestATokenThatWaitedIsForgottenWithADropInAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	one, other, source := r.process(nil), r.process(nil), r.clientCredentials()
	one.ensure(one.ask(source, 0))
	ask := one.ask(source, 1)
	ask.Verify = func(context.Context, string) *health.Failure {
		f := health.EndpointUnreachable("no route", nil)
		return &f
	}
	_, err := one.Ensure(t.Context(), ask)
	require.Error(t, err)
	_, err = other.Drop(t.Context(), credential, source, 1)
	require.NoError(t, err)
	one.ensure(one.ask(source, 1))
	require.Equal(t, 3, r.server.Issued())
}

func TestOneWhoComesTooLateNeverOverwritesANewerToken(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	late, heir, source := r.process(nil), r.process(nil), r.clientCredentials()
	ask := late.ask(source, 0)
	verifying, goOn := make(chan struct{}), make(chan struct{})
	ask.Verify = func(context.Context, string) *health.Failure {
		close(verifying)
		<-goOn
		return nil
	}
	got := make(chan answer, 1)
	go func() {
		out, err := late.Ensure(t.Context(), ask)
		got <- answer{out, err}
	}()
	<-verifying
	r.clock.Advance(time.Minute) // the lease of the late one has run out
	require.Equal(t, int64(1), heir.ensure(heir.ask(source, 0)).Sequence)
	newest := heir.row(source).AccessToken
	close(goOn)
	a := <-got
	require.NoError(t, a.err)
	require.Equal(t, int64(1), a.Sequence)
	require.False(t, a.Minted, "it is the other one's token")
	require.Equal(t, newest, heir.row(source).AccessToken)
}

func TestAStoreThatFailsIsNoFailureOfTheSource(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p := r.process(func(s *store.Store) tokensource.Store { return deaf{s} })
	_, err := p.Ensure(t.Context(), p.ask(r.clientCredentials(), 0))
	require.ErrorContains(t, err, "database is locked")
	var typed *tokensource.Error
	require.NotErrorAs(t, err, &typed)
	require.Zero(t, r.server.Count(simulator.AnyRequest))
}

type deaf struct{ *store.Store }

func (deaf) Token(context.Context, string) (store.Token, error) {
	return store.Token{}, errors.New("database is locked")
}
