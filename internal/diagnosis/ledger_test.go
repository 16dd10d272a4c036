package diagnosis_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestConnectedAloneIsNotUsable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.register()
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeCloudMissing, health.StageEngineDelivery, health.PhaseEngineMissing)
	require.Equal(t, "connected", d.Engine.Status)
	require.Equal(t, diagnosis.FromNowhere, d.Delivery.Source)
	require.Equal(t, delivery.Pending, d.Delivery.State)
	require.Equal(t, r.revision(), *d.Delivery.DesiredRevision)
	require.Nil(t, d.Delivery.AppliedRevision)
	require.Equal(t, both(), d.Tools.Missing)
	require.Zero(t, r.ledger.wakes(), "there is nobody to wake")
}

func TestAnotherRevisionIsPendingAndWakesTheWorkflow(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.put(func(row *store.Desired) { row.Config.TimeoutMillis = 1234 })
	d := r.read(diagnosis.Options{})
	require.False(t, d.Usable)
	require.Equal(t, delivery.Pending, d.Delivery.State)
	require.Equal(t, r.revision(), *d.Delivery.DesiredRevision)
	require.Nil(t, d.Delivery.Failure)
	require.Equal(t, 1, r.ledger.wakes())
}

func TestASilentWorkerLeavesWhatWasPublishedLast(t *testing.T) {
	t.Parallel()
	r := ready(t)
	told, err := r.ledger.Health(t.Context(), r.key)
	require.NoError(t, err)
	r.ledger.silent = true
	r.ledger.memo = &connection.Description{Running: true, Snapshot: &told.Delivery}
	d := r.read(diagnosis.Options{})
	require.True(t, d.Usable)
	require.Equal(t, diagnosis.FromMemo, d.Delivery.Source)
	require.Equal(t, both(), d.Tools.Present)
	require.GreaterOrEqual(t, d.DurationMillis, int64(900))
	require.Less(t, d.DurationMillis, int64(10_000))
}

func TestAWorkflowThatEndedIsNoneAtAll(t *testing.T) {
	t.Parallel()
	r := ready(t)
	told, err := r.ledger.Health(t.Context(), r.key)
	require.NoError(t, err)
	r.ledger.silent = true
	r.ledger.memo = &connection.Description{Snapshot: &told.Delivery}
	d := r.read(diagnosis.Options{})
	require.False(t, d.Usable)
	require.Equal(t, diagnosis.FromNowhere, d.Delivery.Source)
}

func TestTemporalDownIsAnError(t *testing.T) {
	t.Parallel()
	r := ready(t)
	down := errors.New("temporal is down")
	r.ledger.silent, r.ledger.memoErr = true, down
	_, err := r.reader.Read(t.Context(), r.key, diagnosis.Options{})
	require.ErrorIs(t, err, down)
}

func TestAStoreThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	r := ready(t)
	require.NoError(t, r.store.Close())
	_, err := r.reader.Read(t.Context(), r.key, diagnosis.Options{})
	require.Error(t, err)
}

func TestTheLedgersFailureIsShownWhereTheEngineShowsNone(t *testing.T) {
	t.Parallel()
	r := ready(t)
	r.failed(health.EngineUnreachable(health.StageEngineDelivery, "refused"))
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeEngineUnreachable, health.StageEngineDelivery, health.PhaseEngineUnreachable)
	require.Equal(t, "connected", d.Engine.Status)
	require.Equal(t, 1, r.ledger.wakes(), "a live connected speaks against it")
}

func TestAReaderThatIsAskedAllTheTimeDoesNotWakeAllTheTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.verified()
	for range 5 {
		r.read(diagnosis.Options{})
	}
	require.Equal(t, 1, r.ledger.wakes())
}

func TestAWakeThatFailsFailsNoRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.verified()
	r.ledger.wakeFail = errors.New("nobody there")
	requireFailure(t, r.read(diagnosis.Options{}), health.CodeCloudMissing, health.StageEngineDelivery, health.PhaseEngineMissing)
}

// The engine's text is its second attempt's; the ledger knows what the endpoint answered to the first.
func TestTheLedgerExplainsAnEntryThatFailed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint.Rotate("another")
	r.register()
	r.failed(health.InvalidToken(health.StageTransportAuth, health.AliasAuthInvalid, "The endpoint refused the token."))
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeInvalidToken, health.StageTransportAuth, health.PhaseEngineNeedsAuth)
	require.Equal(t, "The endpoint refused the token.", d.FirstFailure.Message)
	require.Equal(t, "failed", d.Engine.Status)
	require.NotEmpty(t, d.Engine.Error)
}

func TestATokenThatCannotBeMintedComesBeforeWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.failed(health.TokenSourceRejected("invalid_client"))
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeTokenSourceRejected, health.StageTokenMint, health.PhaseEngineNeedsAuth)
	require.Equal(t, "missing", d.Engine.Status)
}

// While a push is under way the engine shows the entry as disabled, which nobody has asked for.
func TestADeliveryUnderWayIsNotTakenForADisabledEntry(t *testing.T) {
	t.Parallel()
	r := ready(t)
	h, err := r.ledger.Health(t.Context(), r.key)
	require.NoError(t, err)
	h.Usable, h.Delivery.State, h.Delivery.AppliedRevision = false, delivery.Registering, nil
	r.ledger.tells(h)
	r.engine.Inject(simulator.RouteStatus, simulator.Always,
		simulator.Fault{Status: 200, Body: `{"` + cloud + `":{"status":"disabled"}}`})
	d := r.read(diagnosis.Options{})
	requireFailure(t, d, health.CodeCloudMissing, health.StageEngineDelivery, health.PhaseEngineMissing)
	require.True(t, d.FirstFailure.Retryable)
	require.Zero(t, r.ledger.wakes())
}
