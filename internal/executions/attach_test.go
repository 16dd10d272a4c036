package executions_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// cases 25 and 29
func TestAnAnswerSentAgainGetsTheSameOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	first := r.resume(r.who, paused.Pause.ID, approval.ActionAccept)
	require.Equal(t, first, r.resume(r.who, paused.Pause.ID, approval.ActionAccept))
	require.Equal(t, first, r.resume(r.who, paused.Key, ""))
	require.Equal(t, 1, world.upstream.did(r.name))

	r.shift.Store(int64(2 * time.Hour)) // the outcome is kept for one
	_, err := r.Resume(t.Context(), r.who, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var gone *executions.NotFoundError
	require.ErrorAs(t, err, &gone)
}

// case 26
func TestOfTwoThatAnswerAtOnceOneDecidesAndTheOtherIsTold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	var accepted, declined executions.Report
	var wait sync.WaitGroup
	wait.Go(func() { accepted = r.resume(r.who, paused.Pause.ID, approval.ActionAccept) })
	wait.Go(func() { declined = r.resume(r.who, paused.Pause.ID, approval.ActionDecline) })
	wait.Wait()
	if accepted.Conflict == nil {
		require.NotNil(t, declined.Conflict)
		require.Equal(t, approval.ActionAccept, declined.Conflict.Action)
		r.requireCompleted(accepted, r.name)
		require.Equal(t, 1, world.upstream.did(r.name))
	} else {
		require.Nil(t, declined.Conflict)
		require.Equal(t, approval.ActionDecline, accepted.Conflict.Action)
		require.Equal(t, approval.OutcomeDeclined, declined.Outcome.Kind)
		require.Zero(t, world.upstream.did(r.name))
	}
}

func TestManyThatWaitForOneExecutionShareOnePollerAndItsOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	const waiters = 40
	var wait sync.WaitGroup
	began := time.Now()
	for range waiters {
		wait.Go(func() { r.requireCompleted(r.resume(r.who, paused.Pause.ID, ""), r.name) })
	}
	testkit.Eventually(t, patience, func() bool { return r.store.looks.Load() > 5 }, "somebody looks")
	r.resume(r.page(), paused.Pause.ID, approval.ActionAccept)
	wait.Wait()
	most := int64(time.Since(began)/(100*time.Millisecond)) + 50
	require.Less(t, r.store.looks.Load(), most, "one poller looks ten times a second, and each caller of its own at most once")
	require.Equal(t, 1, world.upstream.did(r.name))
}

func TestACallerIsHeldNoLongerThanAskedAndCanAttachAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("slow", r.name)
	short := executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept, Hold: 300 * time.Millisecond}
	pending, err := r.Resume(t.Context(), r.who, short)
	require.NoError(t, err)
	require.Equal(t, executions.StatusPending, pending.Status)
	require.Equal(t, paused.Key, pending.Key)

	// A gateway that stops lets its callers go; so does a caller that leaves.
	released := make(chan struct{})
	close(released)
	pending, err = r.Resume(t.Context(), r.who, executions.Answer{ID: paused.Key, Release: released})
	require.NoError(t, err)
	require.Equal(t, executions.StatusPending, pending.Status)
	gone, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	pending, err = r.Resume(gone, r.who, executions.Answer{ID: paused.Key})
	require.NoError(t, err)
	require.Equal(t, executions.StatusPending, pending.Status)

	close(world.upstream.gate(r.name))
	r.requireCompleted(r.resume(r.who, paused.Key, ""), r.name)
}

func TestACallWithANameIsAskedForOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	call := r.call("put", r.name)
	call.Request = "request-1"
	first, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	second, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	require.Equal(t, first.Pause.ID, second.Pause.ID)

	other := r.call("put", r.name+"-other")
	other.Request = call.Request
	_, err = r.Execute(t.Context(), r.who, other)
	var refused *executions.ArgumentsError
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Taken)
	rendered, _ := executions.Render(r.who, executions.Report{}, err)
	require.Contains(t, rendered.Text, "another call was made under this name")

	// Rules that allow it meanwhile do not make it another call.
	r.resume(r.who, first.Pause.ID, approval.ActionDecline)
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Allow})
	third, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeclined, third.Outcome.Kind)
	require.Zero(t, world.upstream.tried(r.name))
}

func TestAnExecutionWhoseStarterDiedIsStartedByWhoeverRepeatsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	call := r.call("put", r.name)
	call.Request = "request-1"
	canonical, err := policy.Canonical(call.Arguments)
	require.NoError(t, err)
	key := approval.NewKey()
	_, _, err = world.store.PutExecution(t.Context(), store.Execution{
		Key: key, Identity: r.who.Identity, Mode: r.who.Mode, Request: call.Request, Address: call.Address, Arguments: canonical,
		Digest: policy.Digest(call.Address, canonical, "old"), Policy: "old", CreatedAt: time.Now(),
	})
	require.NoError(t, err)
	report, err := r.Execute(t.Context(), r.who, call)
	require.NoError(t, err)
	require.Equal(t, approval.PauseID(key, 1), report.Pause.ID)
}
