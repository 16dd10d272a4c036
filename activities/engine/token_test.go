package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// newTokenRig is a rig whose connection has a token source, and its first token delivered.
func newTokenRig(t *testing.T, token store.Token) *rig {
	t.Helper()
	r := newRig(t, peers.Options{})
	r.revision = r.Want(r.key, peers.FromVariable("TEAM_TOKEN"))
	r.mint(token)
	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterDelivered, got.Outcome)
	require.Equal(t, int64(1), got.Token, "which token was pushed is told")
	return r
}

func (r *rig) mint(token store.Token) {
	token.AccessToken = "token of " + r.TB.Name()
	r.PutToken(r.key, token)
}

// in gives a time from now on.
func (r *rig) in(d time.Duration) time.Time { return r.Clock.Now().Add(d) }

// having is what the engine was given.
func having(seen engine.TokenSeen) func(*engine.InspectRequest) {
	return func(in *engine.InspectRequest) { in.Token = &seen }
}

func TestATokenIsDueAtItsTimeAndNotBefore(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.mint(store.Token{RenewAt: r.in(10 * time.Second), ExpiresAt: r.in(20 * time.Second)})
	delivered := having(engine.TokenSeen{Sequence: 2, Tried: 2})
	require.LessOrEqual(t, r.rest(t, inSync, delivered), 10*time.Second, "the look wakes up for it")
	r.Clock.Advance(11 * time.Second)
	r.decide(t, engine.DecisionTokenDue, delivered)
	later := r.in(time.Minute)
	r.rest(t, inSync, having(engine.TokenSeen{Sequence: 2, Tried: 2, RetryAt: &later}))
}

func TestADroppedTokenIsDueAtOnce(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.DropToken(r.key)
	r.decide(t, engine.DecisionTokenDue, having(engine.TokenSeen{Sequence: 1, Tried: 1}))

	got, err := r.register(t)
	require.NoError(t, err)
	require.Equal(t, engine.RegisterTokenMissing, got.Outcome, "nothing is pushed without a token")
	require.Equal(t, 1, r.posts())
}

func TestANewerTokenIsDeliveredWhenNoSessionUsesTheClient(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.mint(store.Token{})
	expires := r.in(time.Hour)
	older := having(engine.TokenSeen{Sequence: 1, Tried: 1, ExpiresAt: &expires})
	r.Engine.SetBusy(r.key.Directory, true)
	require.Equal(t, time.Second, r.rest(t, inSync, older), "it is looked for again soon")
	r.Engine.SetBusy(r.key.Directory, false)
	r.decide(t, engine.DecisionTokenRenewed, older)
}

func TestANewerTokenIsDeliveredToABusyClientBeforeTheOlderExpires(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.mint(store.Token{})
	r.Engine.SetBusy(r.key.Directory, true)
	soon := r.in(time.Second)
	r.decide(t, engine.DecisionTokenRenewed, having(engine.TokenSeen{Sequence: 1, Tried: 1, ExpiresAt: &soon}))
}

func TestAnotherTokenIsACauseThatChanged(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "http 401")
	r.Endpoint.Rotate("another")
	tried := having(engine.TokenSeen{Sequence: 1, Tried: 1})
	r.rest(t, "waiting: invalid_mcp_token", failed(f), tried)
	r.mint(store.Token{})
	r.decide(t, engine.DecisionTokenRenewed, failed(f), tried)
}

func TestAnEndpointThatAnswersWhileThereIsNoTokenHasOneMinted(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.DropToken(r.key)
	f := health.EndpointUnreachable("connection refused", nil)
	r.decide(t, engine.DecisionTokenDue, failed(f), having(engine.TokenSeen{Sequence: 1, Tried: 1}))
}

func TestAVariableThatHoldsAnotherTokenIsNoticed(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	moved := engine.NewActivities(engine.Params{
		Store: r.Store, Resolver: r.Resolver, Settings: engine.Settings{PollInterval: pollInterval, EngineTimeout: time.Second},
		Prober: endpoint.NewProber(r.Store, time.Second).WithClock(r.Clock.Now),
		Now:    r.Clock.Now, Moved: func(_ context.Context, want desired.Resolved, refused string) bool {
			return want.BearerToken() != "" && refused == ""
		},
	})
	t.Cleanup(moved.Close)
	r.activities = moved
	r.decide(t, engine.DecisionTokenDue, having(engine.TokenSeen{Sequence: 1, Tried: 1}))
	refused, again := "d1", r.in(time.Minute)
	still := engine.TokenSeen{Sequence: 1, Tried: 1, Refused: refused, RefusedUntil: &again}
	res, err := r.inspect(t, having(still))
	require.False(t, err == nil && res.Decision == engine.DecisionTokenDue, "it holds what was refused")
	r.Clock.Advance(time.Minute)
	r.decide(t, engine.DecisionTokenDue, having(still))
	r.Clock.Advance(time.Hour)
	soon := r.in(time.Minute)
	f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "http 401")
	r.decide(t, engine.DecisionTokenDue, failed(f), having(engine.TokenSeen{Sequence: 1, Tried: 1}))
	r.decide(t, engine.DecisionEndpointHealthy, failed(f), having(engine.TokenSeen{Sequence: 1, Tried: 1, RetryAt: &soon}))
}

func TestATokenThatExpiredInTheEnginesHandsIsAFailure(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	expires, later := r.in(10*time.Second), r.in(time.Hour)
	delivered := having(engine.TokenSeen{Sequence: 1, Tried: 1, ExpiresAt: &expires, RetryAt: &later})
	require.LessOrEqual(t, r.rest(t, inSync, delivered), 10*time.Second, "the look wakes up for it")
	r.Clock.Advance(11 * time.Second)
	got := r.decide(t, engine.DecisionEndpointFailed, delivered)
	require.Equal(t, health.CodeInvalidToken, got.Failure.Code)
	require.Contains(t, got.Failure.Aliases, health.AliasTokenExpired)
}

func TestAWaitForIdleEndsWhenTheTokenIsOfNoUseAnyMore(t *testing.T) {
	t.Parallel()
	r := newTokenRig(t, store.Token{})
	r.Engine.SetBusy(r.key.Directory, true)
	expires := r.in(30 * time.Second)
	delivered := having(engine.TokenSeen{Sequence: 1, Tried: 1, ExpiresAt: &expires})
	r.rest(t, "waiting: a session uses the client", idle, delivered)
	r.Clock.Advance(29 * time.Second)
	r.decide(t, engine.DecisionEngineIdle, idle, delivered)
}

func TestAWithdrawalWaitsForTheSessionsAndForTheEngine(t *testing.T) {
	t.Parallel()
	r := newRig(t, peers.Options{})
	r.deliver(t)
	withdraw := func() (engine.DisconnectResult, error) {
		return peers.Try[engine.DisconnectResult](t, r.activities, engine.DisconnectName,
			engine.DisconnectRequest{Key: r.key, EngineID: peers.EngineID, IfIdle: true, Wait: true})
	}
	r.Engine.SetBusy(r.key.Directory, true)
	_, err := withdraw()
	said, _ := peers.RequireNotDue(t, err)
	require.Equal(t, "waiting: a session uses the client", said)
	r.Engine.SetBusy(r.key.Directory, false)
	got, err := withdraw()
	require.NoError(t, err)
	require.True(t, got.OK)
	r.Engine.Kill()
	_, err = withdraw()
	said, _ = peers.RequireNotDue(t, err)
	require.Equal(t, "waiting: the engine does not answer", said)
}
