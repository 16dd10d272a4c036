package approval_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

var (
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	window = 4 * time.Minute
)

const key = "0123456789abcdef0123456789abcdef"

func gate() approval.Request {
	return approval.Request{Kind: approval.KindGate, Message: "Approve mail.send?"}
}

func form() approval.Request { return approval.Request{Kind: approval.KindForm, Message: "Which?"} }

func opened(t *testing.T, question approval.Request) (*approval.Run, approval.Pause) {
	t.Helper()
	run := &approval.Run{Key: key}
	pause, err := run.Open(question, start, start.Add(window))
	require.NoError(t, err)
	return run, pause
}

func wish(action approval.Action, content string, after time.Duration) approval.Decision {
	return approval.Decision{Action: action, Content: json.RawMessage(content), By: "ann", At: start.Add(after)}
}

func TestTheFirstWishIsTheDecisionAndTheOthersAreToldOfIt(t *testing.T) {
	t.Parallel()
	run, pause := opened(t, gate())
	got, verdict, err := run.Decide(pause.ID, wish(approval.ActionAccept, "", time.Second))
	require.NoError(t, err)
	require.Equal(t, approval.VerdictDecided, verdict)
	require.Equal(t, approval.ActionAccept, got.Decision.Action)

	got, verdict, err = run.Decide(pause.ID, wish(approval.ActionAccept, "", 2*time.Second))
	require.NoError(t, err)
	require.Equal(t, approval.VerdictRepeated, verdict)
	require.Equal(t, start.Add(time.Second), got.Decision.At, "the first one counts")

	got, verdict, err = run.Decide(pause.ID, wish(approval.ActionDecline, "", 3*time.Second))
	require.NoError(t, err)
	require.Equal(t, approval.VerdictConflict, verdict)
	require.Equal(t, approval.ActionAccept, got.Decision.Action)
}

func TestContentDecidesOnlyWhereAFormAsksForIt(t *testing.T) {
	t.Parallel()
	run, pause := opened(t, gate())
	got, _, err := run.Decide(pause.ID, wish(approval.ActionAccept, `{"a":1}`, 0))
	require.NoError(t, err)
	require.Empty(t, got.Decision.Content, "a gate takes none")
	verdict, _ := got.Judge(wish(approval.ActionAccept, `{"a":2}`, 0))
	require.Equal(t, approval.VerdictRepeated, verdict)

	run, pause = opened(t, form())
	got, _, err = run.Decide(pause.ID, wish(approval.ActionAccept, `{"a":1,"b":2}`, 0))
	require.NoError(t, err)
	for _, tc := range []struct {
		content string
		want    approval.Verdict
	}{
		{`{ "b": 2, "a": 1 }`, approval.VerdictRepeated},
		{`{"a":1}`, approval.VerdictConflict},
		{``, approval.VerdictConflict},
	} {
		verdict, over := got.Judge(wish(approval.ActionAccept, tc.content, 0))
		require.True(t, over)
		require.Equal(t, tc.want, verdict, tc.content)
	}
}

func TestADecisionAtTheDeadlineComesTooLate(t *testing.T) {
	t.Parallel()
	run, pause := opened(t, gate())
	got, verdict, err := run.Decide(pause.ID, wish(approval.ActionAccept, "", window))
	require.NoError(t, err)
	require.Equal(t, approval.VerdictExpired, verdict, "also where no timer has said so yet")
	require.True(t, got.Expired)
	require.Nil(t, got.Decision)
	_, again := run.Expire(pause.ID, start.Add(window))
	require.False(t, again, "it expires once")
}

func TestAPauseDoesNotExpireBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	run, pause := opened(t, gate())
	_, expired := run.Expire(pause.ID, start.Add(window-1))
	require.False(t, expired)
	got, expired := run.Expire(pause.ID, start.Add(window))
	require.True(t, expired)
	require.False(t, got.Open())
}

func TestAnEndedRunDropsWhatWaitsAndAsksNothing(t *testing.T) {
	t.Parallel()
	run, first := opened(t, form())
	second, err := run.Open(form(), start, start.Add(window))
	require.NoError(t, err)
	_, _, err = run.Decide(first.ID, wish(approval.ActionAccept, `{}`, 0))
	require.NoError(t, err)
	dropped, settled := run.Settle(approval.Outcome{Kind: approval.OutcomeCompleted})
	require.True(t, settled)
	require.Len(t, dropped, 1)
	require.Equal(t, second.ID, dropped[0].ID)
	_, verdict, err := run.Decide(second.ID, wish(approval.ActionAccept, `{}`, 0))
	require.NoError(t, err)
	require.Equal(t, approval.VerdictDropped, verdict)
	_, err = run.Open(form(), start, start.Add(window))
	require.ErrorIs(t, err, approval.ErrSettled)
	_, settled = run.Settle(approval.Outcome{Kind: approval.OutcomeFailed})
	require.False(t, settled)
	require.Equal(t, approval.OutcomeCompleted, run.Outcome.Kind)
}

func TestIdsOfOtherExecutionsAndOfNoPauseAreNotKnown(t *testing.T) {
	t.Parallel()
	run, _ := opened(t, gate())
	for _, id := range []string{
		"", key, approval.PauseID(key, 2), approval.PauseID(approval.NewKey(), 1), "exec_" + key + "_0", "exec_1",
	} {
		_, _, err := run.Decide(id, wish(approval.ActionAccept, "", 0))
		require.ErrorIs(t, err, approval.ErrNoPause, id)
		_, err = run.Pause(id)
		require.ErrorIs(t, err, approval.ErrNoPause, id)
	}
}

func TestAnExecutionAsksABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	run := &approval.Run{Key: key}
	for range approval.MaxPauses {
		_, err := run.Open(form(), start, start.Add(window))
		require.NoError(t, err)
	}
	_, err := run.Open(form(), start, start.Add(window))
	require.ErrorIs(t, err, approval.ErrTooManyPauses)
}

func TestWhatAGateEndsIn(t *testing.T) {
	t.Parallel()
	decided := func(a approval.Action) approval.Pause { return approval.Pause{Decision: &approval.Decision{Action: a}} }
	for _, tc := range []struct {
		name  string
		pause approval.Pause
		want  approval.OutcomeKind
	}{
		{"waits", approval.Pause{}, ""},
		{"accepted", decided(approval.ActionAccept), ""},
		{"declined", decided(approval.ActionDecline), approval.OutcomeDeclined},
		{"cancelled", decided(approval.ActionCancel), approval.OutcomeCancelled},
		{"expired", approval.Pause{Expired: true}, approval.OutcomeExpired},
		{"dropped", approval.Pause{Dropped: true}, approval.OutcomeCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			kind, ended := tc.pause.Ended()
			require.Equal(t, tc.want, kind)
			require.Equal(t, tc.want != "", ended)
		})
	}
}

func TestWhatCannotBeADecision(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		d    approval.Decision
	}{
		{"no action", approval.Decision{}},
		{"another action", approval.Decision{Action: "approve"}},
		{"long reason", approval.Decision{Action: approval.ActionDecline, Reason: strings.Repeat("ö", approval.MaxReason+1)}},
		{"array", approval.Decision{Action: approval.ActionAccept, Content: json.RawMessage(`[1]`)}},
		{"no json", approval.Decision{Action: approval.ActionAccept, Content: json.RawMessage(`{"a":`)}},
		{"too much", approval.Decision{
			Action: approval.ActionAccept, Content: json.RawMessage(`{"a":"` + strings.Repeat("a", approval.MaxContent) + `"}`),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, tc.d.Check(), approval.ErrBadDecision)
		})
	}
	require.NoError(t, approval.Decision{
		Action: approval.ActionAccept, Content: json.RawMessage(` {"a":1}`), Reason: strings.Repeat("ö", approval.MaxReason),
	}.Check())
}
