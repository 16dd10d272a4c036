package connection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/activities/endpoint"
	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// newTokenWorld is a world whose connection has a token source. Every mint gives the next token, valid for lifetime.
func newTokenWorld(t *testing.T, lifetime time.Duration) *world {
	t.Helper()
	w := newWorld(t)
	w.wanted.Token = &desired.TokenView{Source: "client_credentials"}
	var sequence int64
	w.onMint = func(in endpoint.MintRequest) (endpoint.MintResult, error) {
		if sequence > in.Sequence && !in.Force && len(w.mints) > 1 && lifetime == 0 {
			return endpoint.MintResult{Sequence: sequence}, nil
		}
		sequence++
		res := endpoint.MintResult{Sequence: sequence, Minted: true}
		if lifetime > 0 {
			expires, renew := w.env.Now().Add(lifetime), w.env.Now().Add(lifetime*3/4)
			res.ExpiresAt, res.RenewAt = &expires, &renew
		}
		return res, nil
	}
	return w
}

func TestATokenIsThereBeforeAnythingIsPushed(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		require.Len(t, w.mints, 1)
		return delivered(), nil
	}
	w.at(time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Ready, s.State)
		require.Equal(t, "client_credentials", s.Token.Source)
		require.NotNil(t, s.Token.ExpiresAt)
		require.Equal(t, int64(1), w.looks[0].Token.Sequence, "a look knows which token the engine was given")
	})
	w.run(2 * time.Minute)
}

func TestARenewedTokenIsDeliveredOnceAndTheConnectionStaysReadyUntilThen(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	w.at(time.Minute, func() { w.once(engine.InspectResult{Decision: engine.DecisionTokenDue, Status: "connected"}) })
	w.at(3*time.Minute, func() {
		require.Len(t, w.mints, 2)
		require.Equal(t, []string{"pending", "registering", "ready"}, w.states(), "a mint alone changes nothing")
		require.Len(t, w.registers, 1)
		w.once(engine.InspectResult{Decision: engine.DecisionTokenRenewed, Status: "connected"})
	})
	w.at(5*time.Minute, func() {
		require.Equal(t, []string{"pending", "registering", "ready", "stale", "registering", "ready"}, w.states())
		require.Len(t, w.registers, 2)
		require.False(t, w.registers[1].Proven)
		require.Positive(t, w.registers[1].QuietWaitMillis, "it waits for the moment at which no session uses the client")
		require.Equal(t, int64(3), w.looks[len(w.looks)-1].Token.Sequence)
	})
	w.run(6 * time.Minute)
}

func TestARenewalThatFailsLeavesTheConnectionReadyAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	w.at(time.Minute, func() {
		w.set(func() {
			w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) {
				return endpoint.MintResult{}, apperr.FailedFinally(health.TokenSourceUnreachable("http 503"), nil)
			}
		})
		w.once(engine.InspectResult{Decision: engine.DecisionTokenDue, Status: "connected"})
	})
	w.at(3*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Ready, s.State, "the delivered token still works")
		require.Equal(t, health.CodeTokenSourceUnreachable, s.Token.Failure.Code)
		require.NotNil(t, s.Token.NextAttemptAt)
		require.Equal(t, s.Token.NextAttemptAt, w.looks[len(w.looks)-1].Token.RetryAt)
	})
	w.run(4 * time.Minute)
}

func TestAMintThatTakesLongIsGivenUpForWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) {
		return endpoint.MintResult{}, activity.ErrResultPending
	}
	w.at(10*time.Second, func() {
		require.Equal(t, connection.WaitingToken, w.snapshot().WaitingFor)
		w.set(func() { w.wanted = off() })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{})
	})
	w.at(20*time.Second, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeDisabled, s.Failure.Code)
		require.Empty(t, w.registers)
	})
	w.run(time.Minute)
}

func TestATokenThatIsGoneBeforeItIsPushedIsMintedAnew(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	gone := 2
	w.onRegister = func(engine.RegisterRequest) (engine.RegisterResult, error) {
		if gone--; gone >= 0 {
			return engine.RegisterResult{Outcome: engine.RegisterTokenMissing}, nil
		}
		return delivered(), nil
	}
	w.at(time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.mints, 3)
	})
	w.run(2 * time.Minute)
}

func TestALookThatAsksForARepairAgainAndAgainIsNoLoop(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 0)
	refused := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "http 401")
	refused.Details = map[string]any{"refusedDigest": "d1"}
	w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) {
		return endpoint.MintResult{}, apperr.FailedFinally(refused, nil)
	}
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		return engine.InspectResult{Decision: engine.DecisionTokenDue, Status: "missing"}, nil
	}
	w.at(time.Hour, func() {
		require.LessOrEqual(t, len(w.mints), 122)
		require.Equal(t, "d1", w.looks[len(w.looks)-1].Token.Refused, "a variable that still holds it holds nothing new")
	})
	w.run(time.Hour + time.Second)
}

func TestASourceThatHasNothingNewerIsNotAskedInALoop(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 0)
	w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) { return endpoint.MintResult{Sequence: 1}, nil }
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		if at := in.Token.RetryAt; at == nil || !w.env.Now().Before(*at) {
			return engine.InspectResult{Decision: engine.DecisionTokenDue, Status: "connected"}, nil
		}
		return inSync(in)
	}
	w.at(10*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.LessOrEqual(t, len(w.mints), 12)
		require.Equal(t, int64(1), w.mints[1].Sequence, "it is asked for a newer one than the engine has")
	})
	w.run(11 * time.Minute)
}

func TestATokenSourceThatCannotBeReachedIsTriedAgainUntilItAnswers(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	mint := w.onMint
	w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) {
		return endpoint.MintResult{}, apperr.FailedFinally(health.TokenSourceUnreachable("connection refused"), nil)
	}
	w.at(10*time.Minute, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeTokenSourceUnreachable, s.Failure.Code)
		require.Empty(t, w.registers, "nothing is pushed without a token")
		require.InDelta(t, 9, len(w.mints), 3)
		w.set(func() { w.onMint = mint })
	})
	w.at(40*time.Minute, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(41 * time.Minute)
}

func TestATokenSourceThatRefusesWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, time.Hour)
	mint := w.onMint
	w.onMint = func(endpoint.MintRequest) (endpoint.MintResult, error) {
		return endpoint.MintResult{}, apperr.Failed(health.TokenSourceRejected("invalid_client"), nil)
	}
	w.at(time.Hour, func() {
		h := w.health()
		require.Equal(t, health.CodeTokenSourceRejected, h.FirstFailure.Code)
		require.Equal(t, health.StageTokenMint, h.FirstFailure.Stage)
		require.Equal(t, health.PhaseEngineNeedsAuth, h.Phase)
		require.Len(t, w.mints, 1)
		w.set(func() { w.onMint = mint })
	})
	w.update(2*time.Hour, connection.UpdateReconcile, "mended", func(answer any) {
		require.True(t, answer.(connection.Health).Usable)
	})
	w.run(3 * time.Hour)
}

func TestOneTokenIsMintedInAnUnhealthyEpisode(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 0)
	w.at(time.Minute, func() {
		w.set(func() {
			w.onProbe = refused
			w.onRegister = rejected("SSE error: Non-200 status code (401)")
		})
		f := health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "http 401")
		w.once(engine.InspectResult{Decision: engine.DecisionEndpointFailed, Status: "connected", Failure: &f})
	})
	w.at(3*time.Hour, func() {
		s := w.snapshot()
		require.Equal(t, delivery.Failed, s.State)
		require.Equal(t, health.CodeInvalidToken, s.Failure.Code)
		require.Len(t, w.mints, 2, "one for the start, one for the episode")
		require.Equal(t, int64(1), w.mints[1].Sequence, "the refused one is not used again")
		require.Len(t, w.registers, 2)
		w.set(func() { w.onProbe, w.onRegister = nil, nil })
		w.env.SignalWorkflow(connection.SignalMarkStale, connection.MarkStale{Reason: "by hand"})
	})
	w.at(4*time.Hour, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.mints, 3)
		require.True(t, w.mints[2].Force, "forced stale bypasses what was minted")
	})
	w.run(5 * time.Hour)
}

func TestATokenThatSomebodyElseMintedEndsAFailure(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 0)
	w.onProbe = refused
	w.at(time.Hour, func() {
		require.Equal(t, delivery.Failed, w.snapshot().State)
		w.set(func() { w.onProbe = nil })
		w.once(engine.InspectResult{Decision: engine.DecisionTokenRenewed, Status: "connected"})
	})
	w.at(2*time.Hour, func() { require.Equal(t, delivery.Ready, w.snapshot().State) })
	w.run(3 * time.Hour)
}

func TestAnExpiringTokenIsReplacedAlthoughASessionUsesTheClient(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 20*time.Second)
	w.at(19*time.Second, func() {
		w.once(engine.InspectResult{Decision: engine.DecisionTokenRenewed, Status: "connected"})
		w.env.SignalWorkflow(connection.SignalEngineEvent, connection.EngineEvent{})
	})
	w.at(time.Minute, func() {
		require.Len(t, w.registers, 2)
		require.False(t, w.registers[0].Force)
		require.True(t, w.registers[1].Force)
	})
	w.run(2 * time.Minute)
}

func TestAnotherSourceStartsWithoutTheTokensOfTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newTokenWorld(t, 0)
	w.at(time.Minute, func() {
		w.set(func() { w.wanted.Revision = "r2" })
		w.env.SignalWorkflow(connection.SignalDesiredChanged, connection.DesiredChanged{Revision: "r2"})
	})
	w.at(2*time.Minute, func() {
		require.Equal(t, delivery.Ready, w.snapshot().State)
		require.Len(t, w.mints, 2)
		require.Zero(t, w.mints[1].Sequence)
	})
	w.run(3 * time.Minute)
}
