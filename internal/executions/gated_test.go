package executions_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
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
	require.Equal(t, "approved with the call: no person was asked", r.audits("accept", 1)[0].Reason)

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
