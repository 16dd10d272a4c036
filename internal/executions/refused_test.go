package executions_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

func TestACallThatCanOnlyFailSpendsNoApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, arguments := range []string{`{}`, `[]`, `{"name":"a","name":"b"}`, `{`, `"x"`, ``} {
		_, err := r.Execute(t.Context(), r.who, executions.Call{Address: "src.put", Arguments: json.RawMessage(arguments)})
		var refused *executions.ArgumentsError
		require.ErrorAs(t, err, &refused, arguments)
	}
	count, err := r.PausedCount(t.Context(), r.who)
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestAToolThatIsNotThereIsToldWithNamesThatMayBeCalled(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.allow(policy.Rule{Pattern: "src.put", Effect: policy.Deny})
	_, err := r.Execute(t.Context(), r.who, r.call("putt", r.name))
	var unknown *executions.UnknownToolError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, []string{"src.echo"}, unknown.Suggestions)
}

func TestAnAnswerThatIsNoDecisionIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	for _, answer := range []executions.Answer{
		{Action: "perhaps"}, {Action: approval.ActionAccept, Content: json.RawMessage(`[1]`)},
	} {
		answer.ID = paused.Pause.ID
		_, err := r.Decide(t.Context(), r.page(), answer)
		require.ErrorIs(t, err, approval.ErrBadDecision)
	}
}

// A tool fails over values that it did not ask for, and its question is gone then.
func TestValuesThatDoNotFitWhatAToolAsksForDecideNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gate := r.pause("twice", r.name)
	form := r.resume(r.who, gate.Pause.ID, approval.ActionAccept)
	require.Equal(t, executions.StatusPaused, form.Status)
	answer := executions.Answer{ID: form.Pause.ID, Action: approval.ActionAccept}
	for _, content := range []string{`{"value":7}`, `{"value":["secret"]}`} {
		answer.Content = json.RawMessage(content)
		_, err := r.Decide(t.Context(), r.page(), answer)
		require.ErrorIs(t, err, approval.ErrBadDecision)
		require.ErrorContains(t, err, `value: it must be "string"`)
	}
	answer.Content = json.RawMessage(`{"value":"main"}`)
	report, err := r.Decide(t.Context(), r.page(), answer)
	require.NoError(t, err)
	require.NotNil(t, report.Pause.Decision)
}

// unreachable is a Temporal that is not there.
type unreachable struct{}

var errNoTemporal = errors.New("connection refused")

func (unreachable) Start(context.Context, execution.Input) error { return errNoTemporal }

func (unreachable) Resume(context.Context, approval.Identity, execution.Resume) (execution.Resumed, error) {
	return execution.Resumed{}, errNoTemporal
}

func (unreachable) Cancel(context.Context, string, execution.Cancel) error { return errNoTemporal }

func (unreachable) Outcome(context.Context, string) (*approval.Outcome, error) {
	return nil, errNoTemporal
}

func TestWithoutTemporalCallersAreToldAndNothingIsDecided(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	cut := newRig(t, func(p *executions.Params) { p.Workflows = unreachable{} })
	cut.who = r.who
	for _, do := range []func() error{
		func() error { _, err := cut.Execute(t.Context(), cut.who, cut.call("put", cut.name)); return err },
		func() error {
			_, err := cut.Resume(t.Context(), cut.who, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
			return err
		},
		func() error { _, err := cut.Cancel(t.Context(), cut.who, paused.Key, ""); return err },
	} {
		var away *executions.UnavailableError
		require.ErrorAs(t, do(), &away)
		require.Equal(t, "temporal", away.What)
		require.ErrorIs(t, away, errNoTemporal)
	}
}

// silent is a Temporal without workers: it takes a decision, and does not answer in time.
type silent struct{ unreachable }

func (silent) Resume(ctx context.Context, _ approval.Identity, _ execution.Resume) (execution.Resumed, error) {
	<-ctx.Done()
	return execution.Resumed{}, execution.ErrUnavailable
}

func TestADecisionThatNobodyAnswersMayStillCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	alone := newRig(t, func(p *executions.Params) { p.Workflows = silent{} })
	alone.who = r.who
	for _, ask := range []func(context.Context, executions.Caller, executions.Answer) (executions.Report, error){alone.Resume, alone.Decide} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		report, err := ask(ctx, alone.who, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
		cancel()
		var late *executions.UnansweredError
		require.ErrorAs(t, err, &late)
		require.Equal(t, paused.Pause.ID, late.ID)
		told, ok := executions.Render(alone.who, report, err)
		require.True(t, ok)
		require.Contains(t, told.Text, "may still come to count")
		require.Contains(t, told.Text, paused.Pause.ID)
	}
}

func TestWithoutTheStoreCallersAreToldAndAStartedCallIsPending(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paused := r.pause("put", r.name)
	r.store.down.Store(true)
	_, err := r.Execute(t.Context(), r.who, r.call("put", r.name+"-2"))
	var away *executions.UnavailableError
	require.ErrorAs(t, err, &away)
	require.Equal(t, "store", away.What)
	_, err = r.Resume(t.Context(), r.who, executions.Answer{ID: paused.Pause.ID, Action: approval.ActionAccept})
	require.ErrorAs(t, err, &away)
	r.allow(policy.Rule{Pattern: "src.*", Effect: policy.Allow})
	_, err = r.Execute(t.Context(), r.who, r.call("put", r.name))
	require.ErrorAs(t, err, &away)
	require.Zero(t, world.upstream.tried(r.name))
	report, err := r.Execute(t.Context(), r.who, r.call("echo", r.name+"-3"))
	require.NoError(t, err)
	r.requireCompleted(report, r.name+"-3")

	r.store.down.Store(false)
	waiting := make(chan executions.Report, 1)
	go func() {
		report, _ := r.Resume(context.WithoutCancel(t.Context()), r.who, executions.Answer{ID: paused.Pause.ID})
		waiting <- report
	}()
	looks := r.store.looks.Load()
	for r.store.looks.Load() < looks+3 {
		time.Sleep(time.Millisecond) //nolint:forbidigo // polls a counter
	}
	r.store.down.Store(true)
	require.Equal(t, executions.StatusPending, (<-waiting).Status)
}
