package approval_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// model is a run, and what was seen of it so far.
type model struct {
	run     approval.Run
	now     time.Time
	ended   map[string]approval.Pause // as each pause ended
	decided map[string]int            // how often it was said to be decided
	outcome *approval.Outcome
}

// TestWhatHasEndedStaysAsItEnded drives a run with random steps and holds it to the rules of the protocol after each of them.
func TestWhatHasEndedStaysAsItEnded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			run: approval.Run{Key: approval.NewKey()}, now: start, ended: map[string]approval.Pause{}, decided: map[string]int{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"open":   m.open,
			"decide": m.decide,
			"expire": m.expire,
			"settle": m.settle,
			"wait":   func(t *rapid.T) { m.now = m.now.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "s")) * time.Second) },
			"":       m.check,
		})
	})
}

func (m *model) open(t *rapid.T) {
	kind := rapid.SampledFrom([]approval.Kind{approval.KindGate, approval.KindForm, approval.KindURL}).Draw(t, "kind")
	pause, err := m.run.Open(approval.Request{Kind: kind}, m.now, m.now.Add(window))
	if m.outcome != nil {
		require.ErrorIs(t, err, approval.ErrSettled)
		return
	}
	if len(m.run.Pauses) < approval.MaxPauses {
		require.NoError(t, err)
		require.Equal(t, len(m.run.Pauses), pause.Number)
		require.True(t, pause.Open())
	}
}

func (m *model) id(t *rapid.T) string {
	return approval.PauseID(m.run.Key, rapid.IntRange(1, len(m.run.Pauses)+1).Draw(t, "pause"))
}

func (m *model) decide(t *rapid.T) {
	id := m.id(t)
	d := approval.Decision{
		Action: rapid.SampledFrom([]approval.Action{approval.ActionAccept, approval.ActionDecline, approval.ActionCancel}).Draw(t, "action"),
		By:     rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "by"), At: m.now,
	}
	if rapid.Bool().Draw(t, "with content") {
		d.Content = json.RawMessage(fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 2).Draw(t, "n")))
	}
	before, err := m.run.Pause(id)
	if err != nil {
		_, _, err = m.run.Decide(id, d)
		require.ErrorIs(t, err, approval.ErrNoPause)
		return
	}
	got, verdict, err := m.run.Decide(id, d)
	require.NoError(t, err)
	require.False(t, got.Open(), "whoever asks learns how the pause ended")
	switch verdict {
	case approval.VerdictDecided:
		m.decided[id]++
		require.True(t, before.Open() && m.now.Before(before.Deadline))
		require.Equal(t, d.By, got.Decision.By)
	case approval.VerdictRepeated:
		require.Equal(t, d.Action, got.Decision.Action)
	case approval.VerdictConflict:
		require.NotNil(t, got.Decision)
	case approval.VerdictExpired:
		require.True(t, got.Expired)
		require.False(t, m.now.Before(got.Deadline))
	case approval.VerdictDropped:
		require.True(t, got.Dropped)
		require.NotNil(t, m.outcome)
	default:
		require.Fail(t, "no verdict", "%q", verdict)
	}
}

func (m *model) expire(t *rapid.T) {
	id := m.id(t)
	before, _ := m.run.Pause(id)
	got, expired := m.run.Expire(id, m.now)
	require.Equal(t, before.ID != "" && before.Open() && !m.now.Before(before.Deadline), expired)
	require.True(t, !expired || got.Expired)
}

func (m *model) settle(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "rarely") != 0 {
		return
	}
	o := approval.Outcome{Kind: rapid.SampledFrom([]approval.OutcomeKind{
		approval.OutcomeCompleted, approval.OutcomeFailed, approval.OutcomeDeclined, approval.OutcomeExpired, approval.OutcomeUnknown,
	}).Draw(t, "outcome")}
	_, settled := m.run.Settle(o)
	require.Equal(t, m.outcome == nil, settled)
	if settled {
		m.outcome = &o
	}
}

// check is what holds at any time.
func (m *model) check(t *rapid.T) {
	require.Equal(t, m.outcome, m.run.Outcome, "an outcome never changes")
	ids := map[string]bool{}
	for _, p := range m.run.Pauses {
		require.False(t, ids[p.ID], "an id is given once")
		ids[p.ID] = true
		ways := 0
		for _, ended := range []bool{p.Decision != nil, p.Expired, p.Dropped} {
			if ended {
				ways++
			}
		}
		require.LessOrEqual(t, ways, 1, "a pause ends in one way")
		require.True(t, m.outcome == nil || ways == 1, "nothing waits for an execution that has ended")
		require.LessOrEqual(t, m.decided[p.ID], 1, "one decision")
		if was, ok := m.ended[p.ID]; ok {
			require.True(t, reflect.DeepEqual(was, p), "what has ended stays as it ended")
		} else if ways == 1 {
			m.ended[p.ID] = p
		}
	}
}

func TestIdsOfTwoExecutionsAreNeverEqual(t *testing.T) {
	t.Parallel()
	// case 27
	seen := map[string]bool{}
	for range 1000 {
		run := approval.Run{Key: approval.NewKey()}
		for range 3 {
			pause, err := run.Open(gate(), start, start.Add(window))
			require.NoError(t, err)
			require.False(t, seen[pause.ID])
			seen[pause.ID] = true
			parsed, n, err := approval.ParseID(pause.ID)
			require.NoError(t, err)
			require.Equal(t, run.Key, parsed)
			require.Equal(t, pause.Number, n)
		}
	}
}
