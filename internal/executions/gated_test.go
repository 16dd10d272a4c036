package executions_test

import (
	"context"
	"encoding/json"
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

// case 22
func TestAGatedCallDoesNothingBeforeItIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	require.Zero(t, world.upstream.tried(r.name))
	require.Equal(t, approval.PauseID(paused.Key, 1), paused.Pause.ID)
	require.True(t, paused.ModelMayAnswer)
	count, err := r.PausedCount(t.Context(), r.who)
	require.NoError(t, err)
	require.Equal(t, 1, count)

	r.requireCompleted(r.resume(r.who, paused.Pause.ID, approval.ActionAccept), r.name)
	require.Equal(t, 1, world.upstream.did(r.name))
	has, err := r.HasPaused(t.Context(), r.who)
	require.NoError(t, err)
	require.False(t, has)
	require.Equal(t, paused.Key, r.audits("execute", 1)[0].Execution)
	require.Equal(t, r.who.Principal, r.audits("accept", 1)[0].Principal)
}

func TestADeclinedAndACancelledCallNeverRunAndAreTwoThings(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for action, kind := range map[approval.Action]approval.OutcomeKind{
		approval.ActionDecline: approval.OutcomeDeclined, approval.ActionCancel: approval.OutcomeCancelled,
	} {
		name := r.name + string(action)
		report := r.resume(r.who, r.pause("put", name).Pause.ID, action)
		require.Equal(t, executions.StatusCompleted, report.Status)
		require.Equal(t, kind, report.Outcome.Kind)
		require.Equal(t, action, report.Pause.Decision.Action)
		require.Zero(t, world.upstream.tried(name))
	}
}

// case 24
func TestAToolThatAsksTwicePausesTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := r.pause("twice", r.name)
	first := r.resume(r.who, gate.Pause.ID, approval.ActionAccept)
	require.Equal(t, executions.StatusPaused, first.Status)
	require.Equal(t, "Which branch?", first.Pause.Request.Message)
	require.NotEqual(t, gate.Pause.ID, first.Pause.ID)

	answer := executions.Answer{ID: first.Pause.ID, Action: approval.ActionAccept, Content: json.RawMessage(`{"value":"main"}`)}
	second, err := r.Resume(t.Context(), r.who, answer)
	require.NoError(t, err)
	require.Equal(t, executions.StatusPaused, second.Status)
	require.Equal(t, "Which message?", second.Pause.Request.Message)
	settled, err := r.Settled(t.Context(), r.who, first.Pause.ID)
	require.NoError(t, err)
	require.True(t, settled)
	settled, err = r.Settled(t.Context(), r.who, second.Pause.ID)
	require.NoError(t, err)
	require.False(t, settled)

	answer.ID, answer.Content = second.Pause.ID, json.RawMessage(`{"value":"go"}`)
	last, err := r.Resume(t.Context(), r.who, answer)
	require.NoError(t, err)
	require.Contains(t, string(last.Result), `main`)
	require.Equal(t, 1, world.upstream.did(r.name))

	// The first of the three is answered as all are: by the outcome.
	r.requireCompleted(r.resume(r.who, gate.Pause.ID, approval.ActionAccept), "")
}

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

// case 28, and 41: nobody is told of an id that is not known
func TestAnUnknownIDIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{approval.PauseID(approval.NewKey(), 1), approval.NewKey(), "nonsense", ""} {
		_, err := r.Resume(t.Context(), r.who, executions.Answer{ID: id, Action: approval.ActionAccept})
		var gone *executions.NotFoundError
		require.ErrorAs(t, err, &gone)
		require.Equal(t, id, gone.ID)
		_, err = r.Lookup(t.Context(), r.who, id)
		require.ErrorAs(t, err, &gone)
	}
	paused := r.pause("put", r.name)
	_, err := r.Resume(t.Context(), r.who, executions.Answer{ID: approval.PauseID(paused.Key, 7), Action: approval.ActionAccept})
	var gone *executions.NotFoundError
	require.ErrorAs(t, err, &gone)
}

// case 30
func TestWhatIsApprovedBeforehandNeverPausesAndNeverPassesADeny(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	operator := r.page()
	operator.Via, operator.Operator = "api", true
	call := r.call("put", r.name)
	call.AutoApprove = true
	report, err := r.Execute(t.Context(), operator, call)
	require.NoError(t, err)
	r.requireCompleted(report, r.name)

	// Whoever is no operator is asked for all that.
	again := r.call("put", r.name+"-asked")
	again.AutoApprove = true
	report, err = r.Execute(t.Context(), r.who, again)
	require.NoError(t, err)
	require.Equal(t, executions.StatusPaused, report.Status)

	r.allow(policy.Rule{Pattern: "src.put", Effect: policy.Deny})
	_, err = r.Execute(t.Context(), operator, call)
	var denied *executions.DeniedError
	require.ErrorAs(t, err, &denied)
	require.Equal(t, "rule 1: src.put", denied.Rule)
	require.Equal(t, 1, world.upstream.did(r.name))
	require.Equal(t, "denied", r.audits("call", 1)[0].Outcome)
}

func TestWhatTheRulesHaveComeToDenyCanNotBeApprovedAnyMore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	waiting := r.pause("put", r.name)
	r.allow(policy.Rule{Pattern: "src.put", Effect: policy.Deny})
	for name, ask := range map[string]func(context.Context, executions.Caller, executions.Answer) (executions.Report, error){
		"decide": r.Decide, "resume": r.Resume,
	} {
		_, err := ask(t.Context(), r.page(), executions.Answer{ID: waiting.Pause.ID, Action: approval.ActionAccept})
		var denied *executions.DeniedError
		require.ErrorAs(t, err, &denied, name)
		require.Equal(t, "rule 1: src.put", denied.Rule)
	}
	still, err := r.Lookup(t.Context(), r.who, waiting.Pause.ID)
	require.NoError(t, err)
	require.True(t, still.Pause.Open())

	declined := r.resume(r.page(), waiting.Pause.ID, approval.ActionDecline)
	require.Equal(t, approval.OutcomeDeclined, declined.Outcome.Kind)
	require.Zero(t, world.upstream.did(r.name))
}

// cases 31 and 42: the deadline that is told is the one that is kept
func TestAPauseThatNobodyDecidesExpires(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Ask, ModelMayAnswer: true, Window: 2 * time.Second})
	paused := r.pause("put", r.name)
	require.Equal(t, 2*time.Second, paused.Pause.Deadline.Sub(paused.Pause.CreatedAt))
	waited := r.resume(r.who, paused.Pause.ID, "")
	require.Equal(t, approval.OutcomeExpired, waited.Outcome.Kind)
	told, ok := executions.Render(r.who, waited, nil)
	require.True(t, ok)
	require.Contains(t, told.Text, "Approval windows last 2 seconds")
	late := r.resume(r.who, paused.Pause.ID, approval.ActionAccept)
	require.Equal(t, executions.StatusCompleted, late.Status)
	require.Equal(t, approval.OutcomeExpired, late.Outcome.Kind)
	decided, err := r.Decide(t.Context(), r.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	require.NoError(t, err)
	require.True(t, decided.Pause.Expired)
	require.Nil(t, decided.Pause.Decision)
	require.Zero(t, world.upstream.tried(r.name))
}

// cases 45 and 46
func TestADecisionOnThePageDrivesTheRunAndResumeFindsTheResult(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.who.Mode = approval.ModeBrowser
	paused := r.pause("put", r.name)
	require.False(t, paused.ModelMayAnswer)
	detail, err := r.Lookup(t.Context(), r.page(), paused.Pause.ID)
	require.NoError(t, err)
	require.Equal(t, executions.StatusPaused, detail.Status)
	require.JSONEq(t, `{"name":"`+r.name+`"}`, string(detail.Arguments))

	decided, err := r.Decide(t.Context(), r.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept, Reason: "fine"})
	require.NoError(t, err)
	require.Equal(t, approval.ViaPage, decided.Pause.Decision.Via)
	require.Equal(t, "fine", decided.Pause.Decision.Reason)
	testkit.Eventually(t, patience, func() bool { return world.upstream.did(r.name) == 1 }, "the decision alone drives the run")
	r.requireCompleted(r.resume(r.who, paused.Pause.ID, ""), r.name)

	second, err := r.Decide(t.Context(), r.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionDecline})
	require.NoError(t, err)
	require.Equal(t, approval.ActionAccept, second.Conflict.Action)
	same, err := r.Decide(t.Context(), r.page(), executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	require.NoError(t, err)
	require.Nil(t, same.Conflict)
	require.Equal(t, executions.StatusCompleted, same.Status)
}

func TestAModelThatMayNotAnswerDecidesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Ask})
	paused := r.pause("put", r.name)
	require.False(t, paused.ModelMayAnswer)
	refused := r.resume(r.who, paused.Pause.ID, approval.ActionAccept)
	require.Equal(t, executions.StatusPaused, refused.Status)
	require.True(t, refused.Refused)
	require.Zero(t, world.upstream.tried(r.name))

	// Rules that were changed since are no leave either.
	loose := newRig(t)
	paused = loose.pause("put", loose.name)
	loose.allow(policy.Rule{Pattern: "src.put", Effect: policy.Ask, ModelMayAnswer: true})
	require.True(t, loose.resume(loose.who, paused.Pause.ID, approval.ActionAccept).Refused)
}

// cases 27 and 50
func TestAnotherSessionOnAnotherGatewayGoesOnWithTheRun(t *testing.T) {
	t.Parallel()
	a, b := newRig(t), newRig(t)
	a.who.Session = "session-a"
	b.who.Identity, b.who.Session = a.who.Identity, "session-b"
	paused := a.pause("put", a.name)
	require.NotEqual(t, paused.Pause.ID, a.pause("put", a.name+"-2").Pause.ID)
	b.requireCompleted(b.resume(b.who, paused.Pause.ID, approval.ActionAccept), a.name)
	a.requireCompleted(a.resume(a.who, paused.Pause.ID, ""), a.name)
	require.Equal(t, 1, world.upstream.did(a.name))
}

// case 51, and 47 for pages
func TestAnotherIdentityHasNoEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	other := r.who
	other.Identity.Organisation = "elsewhere"
	_, err := r.Resume(t.Context(), other, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var forbidden *executions.ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	stranger := r.page()
	stranger.Identity.Account = "somebody-else"
	for _, do := range []func() error{
		func() error { _, err := r.Lookup(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Paused(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Settled(t.Context(), stranger, paused.Pause.ID); return err },
		func() error { _, err := r.Cancel(t.Context(), stranger, paused.Key, ""); return err },
		func() error {
			_, err := r.Decide(t.Context(), stranger, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
			return err
		},
	} {
		var gone *executions.NotFoundError
		require.ErrorAs(t, do(), &gone)
	}
	row, err := r.Paused(t.Context(), r.who, paused.Pause.ID)
	require.NoError(t, err)
	require.True(t, row.Open())
	require.Zero(t, world.upstream.tried(r.name))
}

func TestAnOperatorDecidesForItsOrganisationButNeverByMCP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	operator := r.page()
	operator.Identity.Account, operator.Operator = "boss", true
	byMCP := operator
	byMCP.Via = "mcp"
	_, err := r.Resume(t.Context(), byMCP, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	var forbidden *executions.ForbiddenError
	require.ErrorAs(t, err, &forbidden)
	abroad := operator
	abroad.Identity.Organisation = "elsewhere"
	_, err = r.Lookup(t.Context(), abroad, paused.Pause.ID)
	var gone *executions.NotFoundError
	require.ErrorAs(t, err, &gone)

	report, err := r.Cancel(t.Context(), operator, paused.Pause.ID, "not today")
	require.NoError(t, err)
	require.Equal(t, paused.Key, report.Key)
	after := r.resume(r.who, paused.Pause.ID, "")
	require.Equal(t, approval.OutcomeCancelled, after.Outcome.Kind)
	again, err := r.Cancel(t.Context(), operator, paused.Key, "again")
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeCancelled, again.Outcome.Kind)
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
