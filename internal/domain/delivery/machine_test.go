package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ledger drives an entry with a clock that moves a second each step.
type ledger struct {
	t     *testing.T
	entry delivery.Entry
	now   time.Time
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	return &ledger{t: t, entry: delivery.New(), now: start}
}

func (l *ledger) step(events ...delivery.Event) delivery.Outcome {
	l.t.Helper()
	var out delivery.Outcome
	for _, ev := range events {
		l.now = l.now.Add(time.Second)
		l.entry, out = delivery.Apply(l.entry, ev, l.now)
	}
	return out
}

// ready brings the entry to ready at a revision, by the only way there is.
func (l *ledger) ready(revision string) {
	l.t.Helper()
	l.step(delivery.Wanted{Revision: revision, Trigger: "apply"}, delivery.Started{Revision: revision},
		delivery.Pushed{Revision: revision, Generation: l.entry.Generation},
		delivery.Delivered{Revision: revision, Generation: l.entry.Generation},
		delivery.Verified{Revision: revision, Generation: l.entry.Generation})
	require.Equal(l.t, delivery.Ready, l.entry.State)
}

func failure() health.Failure {
	return health.Failure{Code: health.CodeSyncFailed, Stage: health.StageEngineDelivery, Retryable: true}
}

func TestCase1ReadyShowsAppliedAndAnotherRevisionIsPending(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")

	got := l.entry.SnapshotOf("r1")
	require.Equal(t, delivery.Ready, got.State)
	require.Equal(t, "r1", *got.AppliedRevision)

	other := l.entry.SnapshotOf("r2")
	require.Equal(t, delivery.Pending, other.State)
	require.Equal(t, "r2", *other.DesiredRevision)
	require.Nil(t, other.AppliedRevision)
	require.Nil(t, other.Failure)
}

func TestCase2WantingTheAppliedRevisionAgainChangesOnlyTheTrigger(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	appliedAt := *l.entry.AppliedAt

	l.step(delivery.Wanted{Revision: "r1", Trigger: "first"}, delivery.Wanted{Revision: "r1", Trigger: "second"})

	require.Equal(t, delivery.Ready, l.entry.State)
	require.Equal(t, appliedAt, *l.entry.AppliedAt)
	require.Equal(t, "second", l.entry.Trigger)
}

func TestCase3AnotherRevisionIsPendingAndKeepsTheLastAttempt(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	attempt := *l.entry.LastAttemptAt

	l.step(delivery.Wanted{Revision: "r2"})

	require.Equal(t, delivery.Pending, l.entry.State)
	require.Empty(t, l.entry.AppliedRevision)
	require.Nil(t, l.entry.AppliedAt)
	require.Equal(t, attempt, *l.entry.LastAttemptAt)
}

func TestCases4And5EventsOfAnotherRevisionAreIgnored(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		event delivery.Event
	}{
		{name: "case 4: verified", event: delivery.Verified{Revision: "r1"}},
		{name: "case 5: broken", event: delivery.Broken{Revision: "r1", Failure: failure()}},
		{name: "started", event: delivery.Started{Revision: "r1"}},
		{name: "delivered", event: delivery.Delivered{Revision: "r1"}},
		{name: "deferred", event: delivery.Deferred{Revision: "r1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t)
			l.step(delivery.Wanted{Revision: "r2"})
			before := l.entry

			out := l.step(tc.event)

			require.Equal(t, delivery.IgnoredOtherRevision, out.Ignored)
			require.Equal(t, before, l.entry)
			require.Equal(t, delivery.Pending, l.entry.State)
		})
	}
}

func TestCase6StartingClearsTheFailureAndKeepsUpdatedAt(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Broken{Revision: "r1", Failure: failure()})
	updated := l.entry.UpdatedAt

	l.step(delivery.Started{Revision: "r1"})

	require.Equal(t, delivery.Registering, l.entry.State)
	require.Equal(t, updated, l.entry.UpdatedAt)
	require.Equal(t, l.now, *l.entry.LastAttemptAt)
	require.Nil(t, l.entry.Failure)
}

func TestCase7StaleClearsWhatWasAppliedAndKeepsFailureAndDesired(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	l.step(delivery.Broken{Revision: "r1", Failure: failure()}, delivery.Doubted{Reason: "entry gone"})

	require.Equal(t, delivery.Stale, l.entry.State)
	require.Empty(t, l.entry.AppliedRevision)
	require.Nil(t, l.entry.Receipt)
	require.NotNil(t, l.entry.Failure)
	require.Equal(t, "r1", l.entry.DesiredRevision)

	l.step(delivery.Wanted{Revision: "r1"})
	require.Equal(t, delivery.Pending, l.entry.State)
	l.ready("r1")
}

func TestCase8EntriesAreIndependent(t *testing.T) {
	t.Parallel()
	one, two := newLedger(t), newLedger(t)
	two.step(delivery.Wanted{Revision: "r1"})
	one.ready("r1")

	require.Equal(t, delivery.Pending, two.entry.State)
}

func TestCase9NothingDesiredShowsNothing(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	require.Equal(t, delivery.Snapshot{State: delivery.NotDesired}, l.entry.Snapshot())

	l.ready("r1")
	require.Equal(t, delivery.Snapshot{State: delivery.NotDesired}, l.entry.SnapshotOf(""))
	l.step(delivery.Unwanted{Reason: "removed"})
	require.Equal(t, delivery.Snapshot{State: delivery.NotDesired}, l.entry.Snapshot())
}

func TestCase21AReceiptHealsFailedAndNeverStale(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	l.step(delivery.Broken{Revision: "r1", Failure: failure()})
	require.Equal(t, "r1", l.entry.AppliedRevision, "the failure does not take back what was applied")

	l.step(delivery.Verified{Revision: "r1", Generation: l.entry.Generation, Reason: "healed"})
	require.Equal(t, delivery.Ready, l.entry.State)
	require.Nil(t, l.entry.Failure)

	l.step(delivery.Doubted{Reason: "engine restarted"})
	out := l.step(delivery.Verified{Revision: "r1", Generation: l.entry.Generation})
	require.Equal(t, delivery.IgnoredState, out.Ignored)
	require.Equal(t, delivery.Stale, l.entry.State)
}

func TestConnectedWithoutAReceiptNeverMarksReady(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Broken{Revision: "r1", Failure: failure()})

	out := l.step(delivery.Verified{Revision: "r1", Generation: l.entry.Generation})

	require.Equal(t, delivery.IgnoredNoReceipt, out.Ignored)
	require.Equal(t, delivery.Failed, l.entry.State)
}

func TestCase44APushThatFailedIsProvenByALaterStatus(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Started{Revision: "r1"})
	out := l.step(delivery.Delivered{Revision: "r1", Generation: l.entry.Generation})
	require.Equal(t, delivery.IgnoredNoPush, out.Ignored)

	l.step(delivery.Pushed{Revision: "r1", Generation: l.entry.Generation}, delivery.Broken{Revision: "r1", Failure: failure()})
	require.True(t, l.entry.AwaitsConnected())

	l.step(delivery.Delivered{Revision: "r1", Generation: l.entry.Generation},
		delivery.Verified{Revision: "r1", Generation: l.entry.Generation})
	require.Equal(t, delivery.Ready, l.entry.State)
}

func TestAnOlderGenerationIsIgnored(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	old := l.entry.Generation
	l.step(delivery.Doubted{Generation: old, Reason: "disposed"})
	l.ready("r1")

	out := l.step(delivery.Doubted{Generation: old, Reason: "disposed, seen late"})

	require.Equal(t, delivery.IgnoredOlderGeneration, out.Ignored)
	require.Equal(t, delivery.Ready, l.entry.State)
}

func TestADoubtDuringAPushTakesBackItsReceipt(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Started{Revision: "r1"})
	generation := l.entry.Generation
	l.step(delivery.Doubted{Reason: "forced"})

	out := l.step(delivery.Delivered{Revision: "r1", Generation: generation})

	require.Equal(t, delivery.IgnoredOlderGeneration, out.Ignored)
	require.False(t, l.entry.Proven())
}

func TestWantingARevisionThatIsBeingDeliveredJoinsTheAttempt(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Started{Revision: "r1"}, delivery.Wanted{Revision: "r1", Again: true})
	require.Equal(t, delivery.Registering, l.entry.State)

	l.step(delivery.Wanted{Revision: "r2"})
	require.Equal(t, delivery.Pending, l.entry.State, "another revision does not")
}

func TestFailingAfterAnotherRevisionWasAppliedClearsIt(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ready("r1")
	l.step(delivery.Wanted{Revision: "r2"}, delivery.Started{Revision: "r2"},
		delivery.Broken{Revision: "r2", Failure: failure()})

	require.Equal(t, delivery.Failed, l.entry.State)
	require.Empty(t, l.entry.AppliedRevision)
	require.Equal(t, l.now, *l.entry.LastAttemptAt)
}

func TestDeferringReturnsToPending(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.step(delivery.Wanted{Revision: "r1"}, delivery.Started{Revision: "r1"},
		delivery.Deferred{Revision: "r1", Reason: "the engine is busy"})
	require.Equal(t, delivery.Pending, l.entry.State)

	out := l.step(delivery.Deferred{Revision: "r1"})
	require.Equal(t, delivery.IgnoredState, out.Ignored)
}

func TestStatesAreTheSixOfTheContract(t *testing.T) {
	t.Parallel()
	require.Len(t, delivery.States(), 6)
	for _, state := range delivery.States() {
		require.True(t, state.Valid(), state)
		require.Equal(t, state == delivery.Pending || state == delivery.Stale || state == delivery.Failed, state.MayRegister(), state)
	}
	require.False(t, delivery.State("connected").Valid())
}
