package execution_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

func TestAGatedCallIsMadeAfterAPersonAgreesAndNotBefore(t *testing.T) {
	t.Parallel()
	// case 22
	w := newWorld(t)
	w.at(time.Minute, func() {
		require.Empty(t, w.calls)
		got := w.snapshot()
		require.Equal(t, execution.PhaseWaiting, got.Phase)
		require.Equal(t, first, got.Pauses[0].ID)
		require.Equal(t, window, got.Pauses[0].Deadline.Sub(got.Pauses[0].CreatedAt))
	})
	w.decides(2*time.Minute, first, "ann", decision(approval.ActionAccept), func(got execution.Resumed) {
		require.Equal(t, execution.VerdictDecided, got.Verdict)
		require.Equal(t, approval.ActionAccept, got.Pause.Decision.Action)
		require.False(t, got.Pause.Decision.At.IsZero())
	})
	got := w.run(gated())
	require.Equal(t, approval.Outcome{
		Kind: approval.OutcomeCompleted, At: got.Outcome.At, Calls: 1, Digest: "r1", Bytes: 12,
	}, *got.Outcome)
	require.Equal(t, []tool.CallRequest{{Key: key, Number: 1, Fence: 1, Address: "mail.send", Digest: "d1", Timeout: time.Minute}}, w.calls)
	require.Equal(t, []string{"paused 1", "decided 1", "resuming 1", "settled 1", "outcome"}, w.events())
	require.Equal(t, []string{"paused " + first, "resuming " + first, "settled " + first}, w.hooks)
}

func TestHowAGateEndsIsHowTheExecutionEnds(t *testing.T) {
	t.Parallel()
	// A18: expired is not declined, and neither is cancelled
	for _, tc := range []struct {
		name string
		play func(*world)
		want approval.OutcomeKind
		way  []string
	}{
		{
			"declined", func(w *world) { w.decides(time.Minute, first, "ann", decision(approval.ActionDecline), nil) },
			approval.OutcomeDeclined,
			[]string{"paused 1", "decided 1", "resuming 1", "settled 1", "outcome"},
		},
		{
			"cancelled", func(w *world) { w.decides(time.Minute, first, "ann", decision(approval.ActionCancel), nil) },
			approval.OutcomeCancelled,
			[]string{"paused 1", "decided 1", "resuming 1", "settled 1", "outcome"},
		},
		{"nobody decides", func(*world) {}, approval.OutcomeExpired, []string{"paused 1", "decided 1", "settled 1", "outcome"}},
		{"called off", func(w *world) { w.cancels(time.Minute) }, approval.OutcomeCancelled, []string{"paused 1", "settled 1", "outcome"}},
		{
			"cancelled in Temporal", func(w *world) { w.at(time.Minute, w.env.CancelWorkflow) },
			approval.OutcomeCancelled,
			[]string{"paused 1", "settled 1", "outcome"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.play(w)
			began := w.env.Now()
			got := w.run(gated())
			require.Equal(t, tc.want, got.Outcome.Kind)
			require.Zero(t, got.Outcome.Calls)
			require.Empty(t, w.calls)
			require.Equal(t, tc.way, w.events())
			if tc.want == approval.OutcomeExpired {
				require.True(t, got.Pauses[0].Expired)
				require.Equal(t, window, got.Outcome.At.Sub(began))
			}
		})
	}
}

func TestADecisionIsRepeatedToWhoAsksAgainAndTheCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	// cases 25 and 26, A16, A17
	w := newWorld(t)
	verdicts := map[string]execution.Verdict{}
	w.at(time.Minute, func() {
		for _, wish := range []struct {
			by     string
			action approval.Action
		}{{"ann", approval.ActionAccept}, {"bob", approval.ActionAccept}, {"cleo", approval.ActionDecline}} {
			w.decideNow(first, wish.by, decision(wish.action), func(got execution.Resumed) {
				verdicts[wish.by] = got.Verdict
				require.Equal(t, approval.ActionAccept, got.Pause.Decision.Action, "each is told what counts")
			})
		}
	})
	got := w.run(gated())
	require.Equal(t, approval.OutcomeCompleted, got.Outcome.Kind)
	require.Equal(t, map[string]execution.Verdict{
		"ann": execution.VerdictDecided, "bob": execution.VerdictRepeated, "cleo": execution.VerdictConflict,
	}, verdicts)
	require.Len(t, w.calls, 1)
}

func TestWhatIsNoDecisionOnAPauseOfThisExecutionIsRefusedAndTellsNobody(t *testing.T) {
	t.Parallel()
	// cases 28 and 41
	w := newWorld(t)
	w.at(time.Minute, func() {
		before := len(w.hooks)
		resume := func(id string, d approval.Decision, errType string) {
			w.refused(execution.UpdateResume, id+"/x", execution.Resume{PauseID: id, Decision: d}, errType)
		}
		resume(second, decision(approval.ActionAccept), execution.ErrTypeNoPause)
		resume(approval.PauseID(approval.NewKey(), 1), decision(approval.ActionAccept), execution.ErrTypeNoPause)
		resume("exec_1", decision(approval.ActionAccept), execution.ErrTypeNoPause)
		resume(first, decision("approve"), execution.ErrTypeBadDecision)
		w.refused(execution.UpdateAsk, "ask/1", execution.Ask{Call: 1, Request: form()}, execution.ErrTypeNotCalling)
		require.Len(t, w.hooks, before)
		require.True(t, w.snapshot().Pauses[0].Open())
	})
	require.Equal(t, approval.OutcomeExpired, w.run(gated()).Outcome.Kind)
}

func TestAToolThatAsksOpensAPauseOfItsOwn(t *testing.T) {
	t.Parallel()
	// cases 24 and 40
	w := newWorld(t)
	w.onCall = goesOn
	w.decides(time.Minute, first, "ann", decision(approval.ActionAccept), nil)
	w.asks(2*time.Minute, "ask/1/a/1", form(), func(got approval.Pause) { require.Equal(t, second, got.ID) })
	w.at(3*time.Minute, func() {
		require.Equal(t, execution.PhaseWaiting, w.snapshot().Phase)
		require.Equal(t, []string{"paused " + first, "resuming " + first, "settled " + first, "paused " + second}, w.hooks)
	})
	accept := decision(approval.ActionAccept)
	accept.Content = json.RawMessage(`{"which":1}`)
	w.decides(4*time.Minute, second, "ann", accept, func(got execution.Resumed) {
		require.JSONEq(t, `{"which":1}`, string(got.Pause.Decision.Content))
	})
	w.at(5*time.Minute, func() { w.ends(answered(), nil) })
	got := w.run(gated())
	require.Equal(t, approval.OutcomeCompleted, got.Outcome.Kind)
	require.Equal(t, []string{
		"paused 1", "decided 1", "resuming 1", "settled 1", "paused 2", "decided 2", "resuming 2", "settled 2", "outcome",
	}, w.events())
	require.JSONEq(t, `{"which":1}`, string(w.records[3].Decided.Decision.Content), "the tool reads it from the store")
}

func TestAQuestionOfATryIsTheSameWhenItIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = goesOn
	for _, after := range []time.Duration{time.Minute, 2 * time.Minute} {
		w.asks(after, "ask/1/a/1", form(), func(got approval.Pause) { require.Equal(t, first, got.ID) })
	}
	w.at(3*time.Minute, func() { w.ends(answered(), nil) })
	require.Len(t, w.run(ungated()).Pauses, 1)
}

func TestAToolsQuestionThatNobodyAnswersExpiresAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = goesOn
	w.asks(time.Minute, "ask/1/a/1", form(), nil)
	w.at(time.Minute+window+time.Second, func() {
		require.True(t, w.snapshot().Pauses[0].Expired)
		require.Nil(t, w.snapshot().Outcome)
		w.decideNow(first, "ann", decision(approval.ActionAccept), func(got execution.Resumed) {
			require.Equal(t, execution.VerdictExpired, got.Verdict)
		})
		w.ends(tool.CallResult{State: tool.StateDone, ToolError: true}, nil)
	})
	got := w.run(ungated())
	require.Equal(t, approval.OutcomeCompleted, got.Outcome.Kind)
	require.True(t, got.Outcome.ToolError)
	require.Equal(t, []string{"paused 1", "decided 1", "settled 1", "outcome"}, w.events())
}

func TestSeveralQuestionsWaitSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = goesOn
	w.asks(time.Minute, "ask/1/a/1", form(), nil)
	w.asks(time.Minute, "ask/1/b/1", form(), nil)
	w.decides(2*time.Minute, second, "ann", decision(approval.ActionDecline), nil)
	w.at(3*time.Minute, func() { w.ends(answered(), nil) })
	got := w.run(ungated())
	require.True(t, got.Pauses[0].Dropped, "the run ended before anybody answered")
	require.Equal(t, approval.ActionDecline, got.Pauses[1].Decision.Action)
	require.Equal(t, []string{"paused 1", "paused 2", "decided 2", "resuming 2", "settled 2", "settled 1", "outcome"}, w.events())
	require.Len(t, w.records[len(w.records)-1].Dropped, 1)
}

func TestWhatIsApprovedBeforehandNeverPauses(t *testing.T) {
	t.Parallel()
	// case 30
	w := newWorld(t)
	w.onCall = goesOn
	w.asks(time.Minute, "ask/1/a/1", form(), func(got approval.Pause) {
		require.False(t, got.Open())
		require.Equal(t, approval.ActionAccept, got.Decision.Action)
	})
	w.at(2*time.Minute, func() { w.ends(answered(), nil) })
	in := gated()
	in.AutoApprove = true
	got := w.run(in)
	require.Equal(t, approval.OutcomeCompleted, got.Outcome.Kind)
	require.Empty(t, got.Pauses)
	require.Empty(t, w.hooks)
	require.Zero(t, w.timers)
	require.Equal(t, []string{"outcome"}, w.events())
}

func TestAPauseHasOneTimerAndADecisionLeavesNone(t *testing.T) {
	t.Parallel()
	// case 42
	w := newWorld(t)
	w.onCall = goesOn
	w.at(time.Second, func() { require.Equal(t, 1, w.timers) })
	w.decides(time.Minute, first, "ann", decision(approval.ActionAccept), nil)
	w.at(time.Minute+time.Second, func() { require.Equal(t, 1, w.stopped) })
	w.at(2*window, func() {
		require.Zero(t, w.fired, "nothing fires at the window's end")
		require.Equal(t, approval.ActionAccept, w.snapshot().Pauses[0].Decision.Action)
		w.ends(answered(), nil)
	})
	w.run(gated())
	require.Equal(t, 1, w.timers)
}

func TestASessionThatIsGoneHarmsNobody(t *testing.T) {
	t.Parallel()
	// cases 43 and 50
	w := newWorld(t)
	w.sessionGone = true
	w.decides(time.Minute, first, "ann", decision(approval.ActionAccept), nil)
	require.Equal(t, approval.OutcomeCompleted, w.run(gated()).Outcome.Kind)
	require.Equal(t, []string{"paused " + first, "resuming " + first, "settled " + first}, w.hooks)
}

func TestAnExecutionWithoutASessionTellsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.decides(time.Minute, first, "ann", decision(approval.ActionAccept), nil)
	in := gated()
	in.Session = ""
	require.Equal(t, approval.OutcomeCompleted, w.run(in).Outcome.Kind)
	require.Empty(t, w.hooks)
}

func TestAStoreThatIsDownDelaysWhatFollowsAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.storeDown = 12
	w.decides(5*time.Second, first, "ann", decision(approval.ActionAccept), func(got execution.Resumed) {
		require.Equal(t, execution.VerdictDecided, got.Verdict)
		require.Contains(t, w.events(), "decided 1", "who decides is answered when the store has it")
	})
	require.Equal(t, approval.OutcomeCompleted, w.run(gated()).Outcome.Kind)
	require.Equal(t, []string{"paused 1", "decided 1", "resuming 1", "settled 1", "outcome"}, w.events())
}

func TestWhatAnUpdateCausesIsWrittenOnlyAfterTheHistoryHasIt(t *testing.T) {
	t.Parallel()
	// A local activity runs before its workflow task ends, and a server that is killed then has forgotten the update.
	for name, tc := range map[string]struct {
		act    func(w *world)
		inTask []bool // of each step: written within the workflow task
	}{
		"a decision":     {func(w *world) { w.decides(time.Second, first, "ann", decision(approval.ActionDecline), nil) }, []bool{true, false, true}},
		"a cancellation": {func(w *world) { w.cancels(time.Second) }, []bool{true, false}},
		"nothing":        {func(*world) {}, []bool{true, true, true}},
		"a question": {func(w *world) {
			w.onCall = goesOn
			w.decides(time.Second, first, "ann", decision(approval.ActionAccept), nil)
			w.asks(2*time.Second, "q", form(), nil)
			w.decides(3*time.Second, second, "ann", decision(approval.ActionDecline), nil)
			w.at(4*time.Second, func() { w.ends(answered(), nil) })
		}, []bool{true, false, false, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tc.act(w)
			w.run(gated())
			require.Equal(t, tc.inTask, w.inTask, "%v", w.events())
		})
	}
}

func TestAnExecutionWithoutASettledWindowHasTheUsualOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := gated()
	in.Window, in.CallTimeout = 0, 0
	began := w.env.Now()
	require.Equal(t, 4*time.Minute, w.run(in).Outcome.At.Sub(began))
}

func TestADecisionThatComesWithTheStartFindsItsPause(t *testing.T) {
	t.Parallel()
	// So it is when the worker of the first workflow task was killed after it had written the pause down.
	for _, action := range []approval.Action{approval.ActionAccept, approval.ActionDecline} {
		w := newWorld(t)
		var verdict execution.Verdict
		w.decides(0, first, "ann", decision(action), func(got execution.Resumed) { verdict = got.Verdict })
		w.run(gated())
		require.Equal(t, execution.VerdictDecided, verdict)
	}
}
