package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// streamModel is what a stream should be.
type streamModel struct {
	events  []int // lengths of the messages that are kept
	last    int64
	waiting []string
	asked   bool // it had requests
	done    bool
	acked   bool
}

func (m *streamModel) append(length int) {
	m.last++
	m.events = append(m.events, length)
	total := 0
	for _, each := range m.events {
		total += each
	}
	for len(m.events) > 1 && (len(m.events) > store.MaxStreamEvents || total > store.MaxStreamBytes) {
		total -= m.events[0]
		m.events = m.events[1:]
	}
}

func (m *streamModel) take(id string) {
	m.waiting = slices.DeleteFunc(m.waiting, func(each string) bool { return each == id })
	m.done = len(m.waiting) == 0
}

func TestStreamsAreWhatTheirHistoryMakesThem(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	ctx, checks := t.Context(), 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		id := fmt.Sprint("s", checks)
		require.NoError(t, opened.PutSession(ctx, session(id)))
		models := map[string]*streamModel{}
		for _, name := range []string{"alone", "x", "y"} {
			row := stream(id, name)
			if name != "alone" {
				row.Requests = []string{"1", "2"}
			}
			require.NoError(t, opened.OpenStream(ctx, row))
			models[name] = &streamModel{waiting: slices.Clone(row.Requests), asked: name != "alone"}
		}
		pick := rapid.SampledFrom([]string{"alone", "x", "y"})
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				name, s := pick.Draw(t, "stream"), rapid.SampledFrom(handles).Draw(t, "handle")
				length := rapid.SampledFrom([]int{0, 1, 1, 10, 10, 10, 100, 100, 1000, 700 << 10}).Draw(t, "length")
				for range rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 20}).Draw(t, "times") {
					seq, err := s.AppendEvent(ctx, store.Event{Session: id, Stream: name, Data: bytes.Repeat([]byte("a"), length)})
					if models[name].done {
						require.ErrorIs(t, err, store.ErrStreamDone)
						return
					}
					require.NoError(t, err)
					models[name].append(length)
					require.Equal(t, models[name].last, seq)
				}
			},
			"answer": func(t *rapid.T) {
				name, request := pick.Draw(t, "stream"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "request")
				seq, err := rapid.SampledFrom(handles).Draw(t, "handle").Answered(ctx, id, name, request, store.Event{Data: []byte("yes"), At: monday})
				if !slices.Contains(models[name].waiting, request) {
					require.ErrorIs(t, err, store.ErrAnswered)
					return
				}
				require.NoError(t, err)
				models[name].append(3)
				models[name].take(request)
				require.Equal(t, models[name].last, seq)
			},
			"drop": func(t *rapid.T) {
				name, request := pick.Draw(t, "stream"), rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "request")
				dropped, err := opened.DropRequest(ctx, id, name, request, monday)
				require.NoError(t, err)
				require.Equal(t, slices.Contains(models[name].waiting, request), dropped)
				if dropped {
					models[name].take(request)
				}
			},
			"acknowledge": func(t *rapid.T) {
				name := pick.Draw(t, "stream")
				require.NoError(t, opened.AckStream(ctx, id, name, monday.Add(time.Hour)))
				m := models[name]
				m.events, m.waiting, m.acked, m.done = nil, nil, true, m.asked
			},
		})
		requireStreams(ctx, t, rapid.SampledFrom(handles).Draw(t, "handle"), id, models)
	})
}

func requireStreams(ctx context.Context, t *rapid.T, s *store.Store, id string, models map[string]*streamModel) {
	waiting, undelivered := 0, 0
	for name, m := range models {
		waiting += len(m.waiting)
		if m.done && !m.acked {
			undelivered++
		}
		events, err := s.Events(ctx, id, name, 0, 0)
		require.NoError(t, err)
		require.Len(t, events, len(m.events))
		for i, each := range events {
			require.Equal(t, m.last-int64(len(m.events)-1-i), each.Seq)
			require.Len(t, each.Data, m.events[i])
		}
		row, err := s.Stream(ctx, id, name)
		require.NoError(t, err)
		require.ElementsMatch(t, m.waiting, row.Requests)
		require.Equal(t, m.done, !row.DoneAt.IsZero())
		require.Equal(t, m.acked, !row.AckedAt.IsZero())
	}
	count, err := s.RunningRequests(ctx, id)
	require.NoError(t, err)
	require.Equal(t, waiting, count)
	found, err := s.UndeliveredStreams(ctx, id)
	require.NoError(t, err)
	require.Len(t, found, undelivered)
}

// A fence claims a call at most once, and only the one that has it last says how it went.
func TestACallIsWhatItsFencesMakeIt(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	ctx, number := t.Context(), 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		var fence int64 // 0: there is no row
		var result []byte
		fences := rapid.Int64Range(1, 4)
		t.Repeat(map[string]func(*rapid.T){
			"claim": func(t *rapid.T) {
				want := call(1, number)
				want.Fence = fences.Draw(t, "fence")
				got, claimed, err := rapid.SampledFrom(handles).Draw(t, "handle").ClaimCall(ctx, want)
				require.NoError(t, err)
				require.Equal(t, result == nil && want.Fence > fence, claimed)
				if claimed {
					fence = want.Fence
				}
				require.Equal(t, fence, got.Fence)
				require.Equal(t, result, got.Result)
			},
			"finish": func(t *rapid.T) {
				done := call(1, number)
				done.Fence, done.Result = fences.Draw(t, "fence"), fmt.Append(nil, rapid.Int().Draw(t, "result"))
				err := rapid.SampledFrom(handles).Draw(t, "handle").FinishCall(ctx, done)
				if done.Fence != fence {
					require.ErrorIs(t, err, store.ErrLeaseLost)
					return
				}
				require.NoError(t, err)
				if result == nil {
					result = done.Result
				}
			},
			"drop": func(t *rapid.T) {
				by := fences.Draw(t, "fence")
				dropped, err := rapid.SampledFrom(handles).Draw(t, "handle").DropCall(ctx, keyOf(1), number, by)
				require.NoError(t, err)
				require.Equal(t, result == nil && by == fence, dropped)
				if dropped {
					fence = 0
				}
			},
			"": func(t *rapid.T) {
				got, err := opened.Call(ctx, keyOf(1), number)
				if fence == 0 {
					require.ErrorIs(t, err, store.ErrNotFound)
					return
				}
				require.NoError(t, err)
				require.Equal(t, result, got.Result)
			},
		})
	})
}

func TestOneIdentityHasOneExecutionOfAName(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	handles := []*store.Store{opened, again(t, dir)}
	ctx, checks, n := t.Context(), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		checks++
		first := map[string]store.Execution{}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				n++
				want := execution(n)
				want.Identity.Account = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "account")
				want.Identity.Organisation = fmt.Sprint(checks, rapid.SampledFrom([]string{"acme", "other"}).Draw(t, "organisation"))
				want.Request = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "request")
				got, fresh, err := rapid.SampledFrom(handles).Draw(t, "handle").PutExecution(ctx, want)
				require.NoError(t, err)
				name := fmt.Sprint(want.Identity, want.Request)
				before, known := first[name]
				if known && want.Request != "" {
					require.False(t, fresh)
					require.Equal(t, before, got)
					return
				}
				require.True(t, fresh)
				require.Equal(t, want, got)
				first[name] = want
			},
		})
		for _, each := range first {
			got, err := rapid.SampledFrom(handles).Draw(t, "handle").Execution(ctx, each.Key)
			require.NoError(t, err)
			require.Equal(t, each, got)
		}
	})
}

// What a workflow repeats changes nothing, the first end of a pause and of an execution stays, and who follows changes misses none.
func TestAnExecutionIsWhatItsStepsMakeIt(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx, n := t.Context(), 0
	ends := []func(p *approval.Pause){
		func(p *approval.Pause) { *p = accepted(*p) },
		func(p *approval.Pause) { p.Expired = true },
		func(p *approval.Pause) { p.Dropped = true },
	}
	rapid.Check(t, func(t *rapid.T) {
		n++
		_, _, err := opened.PutExecution(ctx, execution(n))
		require.NoError(t, err)
		pauses, outcome := map[int]approval.Pause{}, approval.OutcomeKind("")
		seen, err := opened.LastChange(ctx)
		require.NoError(t, err)
		followed := map[string]store.PauseRow{}
		numbers := rapid.IntRange(1, 3)
		t.Repeat(map[string]func(*rapid.T){
			"pause": func(t *rapid.T) {
				row := pause(n, numbers.Draw(t, "number"))
				require.NoError(t, opened.RecordPaused(ctx, row, step(n, int64(row.Number), store.EventPaused)))
				if _, known := pauses[row.Number]; !known {
					pauses[row.Number] = row.Pause
				}
			},
			"end of a pause": func(t *rapid.T) {
				number := numbers.Draw(t, "number")
				ended := pause(n, number).Pause
				rapid.SampledFrom(ends).Draw(t, "end")(&ended)
				err := opened.RecordDecided(ctx, ended, nil)
				before, known := pauses[number]
				if !known {
					require.ErrorIs(t, err, store.ErrNotFound)
					return
				}
				require.NoError(t, err)
				if before.Open() {
					pauses[number] = ended
				}
			},
			"end": func(t *rapid.T) {
				kind := rapid.SampledFrom([]approval.OutcomeKind{approval.OutcomeCompleted, approval.OutcomeUnknown}).Draw(t, "outcome")
				require.NoError(t, opened.RecordOutcome(ctx, store.Ending{Key: keyOf(n), Outcome: approval.Outcome{Kind: kind, At: monday}}))
				if outcome == "" {
					outcome = kind
				}
			},
			"follow": func(t *rapid.T) {
				rows, err := opened.PausesSince(ctx, seen, rapid.IntRange(1, 4).Draw(t, "limit"))
				require.NoError(t, err)
				for _, each := range rows {
					require.Greater(t, each.Change, seen)
					seen, followed[each.ID] = each.Change, each
				}
			},
		})
		want := store.StatusRunning
		for number, p := range pauses {
			row, err := opened.Pause(ctx, pause(n, number).ID)
			require.NoError(t, err)
			require.Equal(t, p, row.Pause)
			if p.Open() {
				want = store.StatusWaiting
			}
		}
		if outcome != "" {
			want = string(outcome)
		}
		row, err := opened.Execution(ctx, keyOf(n))
		require.NoError(t, err)
		require.Equal(t, want, row.Status)
		rows, err := opened.PausesSince(ctx, seen, 0)
		require.NoError(t, err)
		for _, each := range rows {
			followed[each.ID] = each
		}
		require.Len(t, followed, len(pauses))
		for _, each := range followed {
			now, err := opened.Pause(ctx, each.ID)
			require.NoError(t, err)
			require.Equal(t, now, each)
		}
	})
}
