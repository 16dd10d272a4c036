package connection_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// filled is a state of which no field, at any depth, is empty.
func filled(t *testing.T) connection.State {
	t.Helper()
	var state connection.State
	n := 0
	fill(t, reflect.ValueOf(&state).Elem(), &n)
	require.Greater(t, n, 80)
	return state
}

func fill(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 1, 0, 0, *n, *n, time.UTC)))
			return
		}
		for field, value := range v.Fields() {
			require.True(t, field.IsExported(), "%s.%s would be lost between runs", v.Type(), field.Name)
			fill(t, value, n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(t, v.Index(0), n)
		fill(t, v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value, n)
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key", *n)), value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(fmt.Sprint("any", *n)))
	case reflect.String:
		v.SetString(fmt.Sprint("text", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(1000 + *n))
	default:
		require.Fail(t, "a kind that states do not hold yet", "%s", v.Type())
	}
}

func TestEveryFieldOfTheStateSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	want := filled(t)
	raw, err := json.Marshal(want)
	require.NoError(t, err)
	var got connection.State
	require.NoError(t, json.Unmarshal(raw, &got))
	require.Equal(t, want, got)
}

// TestEveryFieldOfTheStateSurvivesARollover guards against the classic loss: a field that the next run builds anew.
func TestEveryFieldOfTheStateSurvivesARollover(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		due  func(*world, *connection.State)
	}{
		{"forced by a signal that came before", func(_ *world, s *connection.State) { s.Intents.Rollover = true }},
		{"suggested by the server", func(w *world, _ *connection.State) { w.env.SetContinueAsNewSuggested(true) }},
		{"history no longer small", func(w *world, s *connection.State) { w.env.SetCurrentHistoryLength(s.RolloverEvents) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			in := filled(t)
			in.Entry.State, in.Intents = delivery.Ready, connection.Intents{}
			want := in
			tc.due(w, &in)
			require.Equal(t, want, w.rollsOver(&in))
		})
	}
}

func TestAForcedRolloverHandsOverWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.update(time.Minute, connection.UpdateProbe, "p", nil)
	w.at(2*time.Minute, func() { w.env.SignalWorkflow(connection.SignalForceContinueAsNew, nil) })
	next := w.rollsOver(&connection.State{Key: key})
	require.Equal(t, delivery.Ready, next.Entry.State)
	require.True(t, next.Entry.Usable())
	require.Len(t, next.Transitions, 3)
	require.Len(t, next.Answers, 1)
	require.Equal(t, "p", next.Answers[0].Key)
	require.Equal(t, "r1", next.Answers[0].Revision)
	require.Equal(t, "ready", next.Answers[0].Phase)
	require.Equal(t, connection.Intents{}, next.Intents)

	// In the next run the same request is answered from the account and nothing is done.
	w = newWorld(t)
	w.update(time.Minute, connection.UpdateProbe, "p", func(answer any) {
		require.Equal(t, &next.Answers[0], answer.(connection.Health).Earlier)
		for _, look := range w.looks {
			require.False(t, look.Once)
		}
	})
	w.runFrom(&next, 2*time.Minute)
}

// TestARunThatIsReplacedEqualsOneThatIsNot plays one story twice: in one run, and with a rollover in the middle.
func TestARunThatIsReplacedEqualsOneThatIsNot(t *testing.T) {
	t.Parallel()
	whole := newWorld(t)
	story(whole, 0)
	whole.at(20*time.Minute, func() { whole.last = whole.account() })
	whole.run(21 * time.Minute)

	first := newWorld(t)
	story(first, 0)
	first.at(6*time.Minute, func() { first.env.SignalWorkflow(connection.SignalForceContinueAsNew, nil) })
	state := first.rollsOver(&connection.State{Key: key})

	second := newWorld(t)
	second.env.SetStartTime(first.env.Now())
	story(second, 6*time.Minute)
	second.at(14*time.Minute, func() { second.last = second.account() })
	second.runFrom(&state, 15*time.Minute)
	require.JSONEq(t, whole.last, second.last)
}

func TestTheRingKeepsSixteenAnswersForAnHour(t *testing.T) {
	t.Parallel()
	var s connection.State
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for i := range 20 {
		s.Remember(connection.Answered{Key: fmt.Sprint(i), Kind: connection.UpdateProbe, FinishedAt: now})
	}
	s.Remember(connection.Answered{Kind: connection.UpdateProbe, FinishedAt: now})
	require.Len(t, s.Answers, 16)
	require.Nil(t, s.AnsweredBefore("3", connection.UpdateProbe, now), "the oldest go first")
	require.NotNil(t, s.AnsweredBefore("4", connection.UpdateProbe, now))
	require.Nil(t, s.AnsweredBefore("4", connection.UpdateRemove, now), "another kind is another request")
	require.NotNil(t, s.AnsweredBefore("19", connection.UpdateProbe, now.Add(time.Hour-time.Second)))
	require.Nil(t, s.AnsweredBefore("19", connection.UpdateProbe, now.Add(time.Hour)))
	require.Nil(t, s.AnsweredBefore("", connection.UpdateProbe, now), "a request without a name is always done")
}

func TestPropertyBackoffDoublesWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.String().Draw(t, "workflow id")
		n := rapid.IntRange(-3, 1_000_000).Draw(t, "attempt")
		base := 15 * time.Minute
		if n <= 10 {
			base = min(base, time.Second<<(max(n, 1)-1))
		}
		got := connection.Backoff(id, n)
		require.GreaterOrEqual(t, got, base*8/10)
		require.LessOrEqual(t, got, base*12/10)
		require.Equal(t, got, connection.Backoff(id, n), "it replays")
	})
}

func TestBackoffSpreadsConnectionsThatFailTogether(t *testing.T) {
	t.Parallel()
	waits := map[time.Duration]bool{}
	for i := range 100 {
		waits[connection.Backoff(fmt.Sprint("connection:w:c:", i), 5)] = true
	}
	require.Greater(t, len(waits), 50)
}

func TestASignalThatComesAsTheRunEndsIsHandedOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	looks := 0
	w.onInspect = func(in engine.InspectRequest) (engine.InspectResult, error) {
		if looks++; looks == 1 {
			return inSync(in)
		}
		// It comes together with the answer after which the loop is at rest.
		w.env.SignalWorkflowSkippingWorkflowTask(connection.SignalMarkStale, connection.MarkStale{Reason: "by hand"})
		return engine.InspectResult{Decision: engine.DecisionEndpointMissed, Status: "connected"}, nil
	}
	w.at(pollInterval/2, func() { w.env.SetCurrentHistoryLength(1000) })
	next := w.rollsOver(&connection.State{Key: key, RolloverEvents: 1000})
	require.Equal(t, 2, looks)
	require.NotNil(t, next.Intents.Stale)
	require.Equal(t, "by hand", next.Intents.Stale.Reason)
}
