package execution_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// Ends of one try of the call, and what the store says of it afterwards.
var (
	lost    = func() (tool.CallResult, error) { return tool.CallResult{}, temporal.NewHeartbeatTimeoutError() }
	tooLong = func() (tool.CallResult, error) {
		return tool.CallResult{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil)
	}
	broken = func() (tool.CallResult, error) {
		return tool.CallResult{}, errors.New("store result of call: disk is full")
	}
	succeeds    = func() (tool.CallResult, error) { return answered(), nil }
	unreachable = ends(tool.StateNone, "upstream_unreachable")
	cutOff      = ends(tool.StateClaimed, "upstream_timeout")
	refuses     = ends(tool.StateRefused, "upstream_unauthorized")
	nothing     = ends(tool.StateNone, "")
	claimedOnly = ends(tool.StateClaimed, "")
)

type end = func() (tool.CallResult, error)

func ends(state tool.CallState, code string) end {
	return func() (tool.CallResult, error) { return tool.CallResult{State: state, Code: code}, nil }
}

// script answers the n-th time as the list says, and as its last says from then on.
func script(list ...end) func(int) (tool.CallResult, error) {
	return func(n int) (tool.CallResult, error) { return list[min(n, len(list))-1]() }
}

func TestACallIsMadeAgainOnlyWhereItIsKnownNotToHaveRunOrMayRunTwice(t *testing.T) {
	t.Parallel()
	type want struct {
		kind  approval.OutcomeKind
		code  string
		calls int // tries
	}
	for _, tc := range []struct {
		name    string
		calls   []end
		settles []end
		// want is for a call that may not be made again, retry for one that may.
		want, retry want
	}{
		{"it succeeds", []end{succeeds}, nil, want{approval.OutcomeCompleted, "", 1}, want{approval.OutcomeCompleted, "", 1}},
		{
			"worker lost before the claim",
			[]end{lost, succeeds},
			[]end{nothing},
			want{approval.OutcomeCompleted, "", 2},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"worker lost between claim and answer",
			[]end{lost, succeeds},
			[]end{claimedOnly},
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 1},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"worker lost after the answer",
			[]end{lost},
			[]end{succeeds},
			want{approval.OutcomeCompleted, "", 1},
			want{approval.OutcomeCompleted, "", 1},
		},
		{
			"much too long",
			[]end{tooLong, succeeds},
			[]end{claimedOnly},
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 1},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"answer not stored",
			[]end{broken, succeeds},
			[]end{claimedOnly},
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 1},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"cut off under way",
			[]end{cutOff, succeeds},
			nil,
			want{approval.OutcomeUnknown, "upstream_timeout", 1},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"always cut off under way",
			[]end{cutOff},
			nil,
			want{approval.OutcomeUnknown, "upstream_timeout", 1},
			want{approval.OutcomeUnknown, "upstream_timeout", 5},
		},
		{
			"found claimed by another try",
			[]end{claimedOnly, succeeds},
			nil,
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 1},
			want{approval.OutcomeCompleted, "", 2},
		},
		{
			"found claimed by another try that succeeds",
			[]end{claimedOnly},
			[]end{succeeds},
			want{approval.OutcomeCompleted, "", 1},
			want{approval.OutcomeCompleted, "", 1},
		},
		{
			"not reached at first",
			[]end{unreachable, unreachable, succeeds},
			nil,
			want{approval.OutcomeCompleted, "", 3},
			want{approval.OutcomeCompleted, "", 3},
		},
		{
			"never reached",
			[]end{unreachable},
			nil,
			want{approval.OutcomeFailed, "upstream_unreachable", 12},
			want{approval.OutcomeFailed, "upstream_unreachable", 12},
		},
		{
			"refused",
			[]end{refuses},
			nil,
			want{approval.OutcomeFailed, "upstream_unauthorized", 1},
			want{approval.OutcomeFailed, "upstream_unauthorized", 1},
		},
		{
			"every worker is lost before the claim",
			[]end{lost},
			[]end{nothing},
			want{approval.OutcomeFailed, execution.CodeWorkerLost, 5},
			want{approval.OutcomeFailed, execution.CodeWorkerLost, 5},
		},
		{
			"every worker is lost under way",
			[]end{lost},
			[]end{claimedOnly},
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 1},
			want{approval.OutcomeUnknown, execution.CodeWorkerLost, 5},
		},
	} {
		for retry, expected := range map[bool]want{false: tc.want, true: tc.retry} {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.onCall = script(tc.calls...)
				if tc.settles != nil {
					w.onSettle = script(tc.settles...)
				}
				in := ungated()
				in.Retry = retry
				got := w.run(in)
				require.Equal(t, expected, want{got.Outcome.Kind, got.Outcome.Code, len(w.calls)})
				for i, call := range w.calls {
					require.Equal(t, 1, call.Number, "made again, it is the same call, with the same idempotency key")
					fence := int64(1)
					if retry {
						fence = int64(i + 1)
					}
					require.Equal(t, fence, call.Fence)
				}
				for _, s := range w.settles {
					require.Equal(t, !retry, s.Grace > 0, "an answer that is late is waited for where the call may not be made again")
				}
			})
		}
	}
}

func TestACallThatIsCalledOffIsToldForWhatIsKnownOfIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		end   end
		retry bool
		want  approval.OutcomeKind
		code  string
	}{
		{"it had not begun", nothing, false, approval.OutcomeCancelled, ""},
		{"it was done", succeeds, false, approval.OutcomeCompleted, ""},
		{"it was under way", claimedOnly, false, approval.OutcomeUnknown, execution.CodeCalledOff},
		{"it was under way and may run twice", claimedOnly, true, approval.OutcomeCancelled, execution.CodeCalledOff},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.onCall = goesOn
			w.cancels(time.Minute)
			w.at(time.Minute, func() {
				w.refused(execution.UpdateAsk, "late", execution.Ask{Call: 1, Request: form()}, execution.ErrTypeNotCalling)
			})
			w.onSettle = script(tc.end)
			in := ungated()
			in.Retry = tc.retry
			got := w.run(in)
			require.Equal(t, tc.want, got.Outcome.Kind)
			require.Equal(t, tc.code, got.Outcome.Code)
			require.Len(t, w.calls, 1)
		})
	}
}

func TestAnExecutionThatIsCalledOffBetweenTwoTriesMakesNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onCall = script(unreachable)
	w.cancels(20 * time.Second)
	require.Equal(t, approval.OutcomeCancelled, w.run(ungated()).Outcome.Kind)
	require.Less(t, len(w.calls), 7)
}

// ledger is a store and an upstream as far as one call goes: claims by fence, results, and how often the tool ran.
type ledger struct {
	fence   int64
	claimed bool
	done    bool
	ran     int
}

func (l *ledger) state() tool.CallState {
	switch {
	case l.done:
		return tool.StateDone
	case l.claimed:
		return tool.StateClaimed
	default:
		return tool.StateNone
	}
}

// TestNoCallRunsTwiceThatMayNot kills workers, cuts connections and decides at random, and counts how often the tool ran.
func TestNoCallRunsTwiceThatMayNot(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		l := &ledger{}
		w.onCall = func(int) (tool.CallResult, error) { return l.try(t, w.calls[len(w.calls)-1]) }
		w.onSettle = func(int) (tool.CallResult, error) { return tool.CallResult{State: l.state()}, nil }
		in := gated()
		in.Retry = rapid.Bool().Draw(t, "may be made again")
		action := rapid.SampledFrom([]approval.Action{"", approval.ActionAccept, approval.ActionAccept, approval.ActionDecline}).Draw(t, "action")
		if action != "" {
			w.decides(time.Minute, first, "ann", decision(action), nil)
			w.decides(time.Minute, first, "bob", decision(approval.ActionAccept), nil)
		}
		if rapid.IntRange(0, 4).Draw(t, "calls off") == 0 {
			w.cancels(time.Duration(rapid.IntRange(30, 90).Draw(t, "after")) * time.Second)
		}
		got := w.run(in)
		if !in.Retry {
			require.LessOrEqual(t, l.ran, 1)
		}
		switch got.Outcome.Kind {
		case approval.OutcomeCompleted:
			require.True(t, l.done && l.ran > 0)
		case approval.OutcomeFailed, approval.OutcomeDeclined, approval.OutcomeExpired:
			require.Zero(t, l.ran)
		case approval.OutcomeCancelled:
			require.True(t, l.ran == 0 || in.Retry)
		case approval.OutcomeUnknown:
			require.False(t, l.done)
		default:
			require.Fail(t, "no outcome", "%q", got.Outcome.Kind)
		}
		if action != approval.ActionAccept {
			require.Zero(t, l.ran)
		}
	})
}

// try is one try, as the activity makes it; its worker may be lost at each step.
func (l *ledger) try(t *rapid.T, in tool.CallRequest) (tool.CallResult, error) {
	dies := func(where string) bool { return rapid.IntRange(0, 3).Draw(t, where) == 0 }
	if dies("before the claim") {
		return lost()
	}
	if l.done {
		return answered(), nil
	}
	if l.claimed && l.fence >= in.Fence {
		return tool.CallResult{State: tool.StateClaimed}, nil
	}
	l.claimed, l.fence = true, in.Fence
	if dies("after the claim") {
		return lost()
	}
	if rapid.IntRange(0, 3).Draw(t, "not sent") == 0 {
		l.claimed = false
		return unreachable()
	}
	l.ran++
	if dies("after the call") {
		return lost()
	}
	if rapid.IntRange(0, 5).Draw(t, "no answer") == 0 {
		return cutOff()
	}
	l.done = true
	if dies("after the answer was stored") {
		return lost()
	}
	return answered(), nil
}
