package store_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// inSession gives a store with the session "s".
func inSession(t *testing.T) (*store.Store, string) {
	t.Helper()
	opened, dir := open(t)
	require.NoError(t, opened.PutSession(t.Context(), session("s")))
	return opened, dir
}

func event(data string) store.Event {
	return store.Event{Session: "s", Stream: "x", Data: []byte(data), At: monday}
}

func TestAStreamIsReplayedByAnyReplica(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1", `"b"`)))
	want := []store.Event{
		{Session: "s", Stream: "x", Seq: 1, At: monday},
		{Session: "s", Stream: "x", Seq: 2, Data: []byte("progress"), At: monday},
		{Session: "s", Stream: "x", Seq: 3, Data: []byte("first"), Response: true, At: monday},
	}
	for i, data := range []string{"", "progress"} {
		seq, err := opened.AppendEvent(ctx, event(data))
		require.NoError(t, err)
		require.EqualValues(t, i+1, seq)
	}
	seq, err := opened.Answered(ctx, "s", "x", "1", store.Event{Data: []byte("first"), At: monday})
	require.NoError(t, err)
	require.EqualValues(t, 3, seq)

	other := again(t, dir)
	got, err := other.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = other.Events(ctx, "s", "x", 1, 1)
	require.NoError(t, err)
	require.Equal(t, want[1:2], got)
	row, err := other.Stream(ctx, "s", "x")
	require.NoError(t, err)
	require.Equal(t, stream("s", "x", `"b"`), row)
	_, err = other.Stream(ctx, "s", "y")
	require.ErrorIs(t, err, store.ErrNotFound)
	none, err := other.Events(ctx, "t", "x", 0, 0)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestTheLastResponseEndsAStream(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	ctx := t.Context()
	for _, id := range []string{"x", "y"} {
		require.NoError(t, opened.OpenStream(ctx, stream("s", id, "1", "2")))
	}
	require.Equal(t, 4, running(t, opened))
	for i, id := range []string{"2", "1"} {
		_, err := opened.Answered(ctx, "s", "x", id, store.Event{Data: []byte("answer " + id), At: monday.Add(time.Duration(i) * time.Second)})
		require.NoError(t, err)
		_, err = opened.Answered(ctx, "s", "x", id, store.Event{Data: []byte("late"), At: monday})
		require.ErrorIs(t, err, store.ErrAnswered, "another replica was first")
	}
	require.Equal(t, 2, running(t, opened))
	_, err := opened.AppendEvent(ctx, event("late"))
	require.ErrorIs(t, err, store.ErrStreamDone)
	_, err = opened.Answered(ctx, "s", "z", "1", store.Event{})
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = opened.AppendEvent(ctx, store.Event{Session: "s", Stream: "z"})
	require.ErrorIs(t, err, store.ErrNotFound)

	other := again(t, dir)
	undelivered, err := other.UndeliveredStreams(ctx, "s")
	require.NoError(t, err)
	require.Len(t, undelivered, 1)
	want := stream("s", "x")
	want.DoneAt, want.Messages = monday.Add(time.Second), nil
	require.Equal(t, want, undelivered[0])
	runs, err := other.RunningStreams(ctx, "s")
	require.NoError(t, err)
	left := stream("s", "y", "1", "2")
	left.Messages = nil
	require.Equal(t, []store.Stream{left}, runs)
	events, err := other.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 2)
}

func TestUndeliveredStreamsComeInTheOrderInWhichTheyWereDone(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	for i, id := range []string{"c", "a", "b"} {
		require.NoError(t, opened.OpenStream(ctx, stream("s", id, "1")))
		_, err := opened.Answered(ctx, "s", id, "1", store.Event{At: monday.Add(time.Duration(i) * time.Second)})
		require.NoError(t, err)
	}
	require.NoError(t, opened.AckStream(ctx, "s", "a", monday.Add(time.Minute)))
	found, err := opened.UndeliveredStreams(ctx, "s")
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, []string{"c", "b"}, []string{found[0].ID, found[1].ID})
}

func TestAnAcknowledgedStreamIsForgottenButNotItsNumbers(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1")))
	require.NoError(t, opened.OpenStream(ctx, stream("s", "alone")))
	for _, id := range []string{"x", "alone"} {
		_, err := opened.AppendEvent(ctx, store.Event{Session: "s", Stream: id, Data: []byte("{}")})
		require.NoError(t, err)
		require.NoError(t, opened.AckStream(ctx, "s", id, monday.Add(time.Hour)))
		events, err := opened.Events(ctx, "s", id, 0, 0)
		require.NoError(t, err)
		require.Empty(t, events)
	}
	require.Zero(t, running(t, opened))
	_, err := opened.Answered(ctx, "s", "x", "1", store.Event{})
	require.ErrorIs(t, err, store.ErrAnswered)
	_, err = opened.AppendEvent(ctx, event("late"))
	require.ErrorIs(t, err, store.ErrStreamDone)
	want := stream("s", "x")
	want.Messages, want.DoneAt, want.AckedAt = nil, monday.Add(time.Hour), monday.Add(time.Hour)
	row, err := opened.Stream(ctx, "s", "x")
	require.NoError(t, err)
	require.Equal(t, want, row)

	seq, err := opened.AppendEvent(ctx, store.Event{Session: "s", Stream: "alone", Data: []byte("{}")})
	require.NoError(t, err, "a stream without requests goes on")
	require.EqualValues(t, 2, seq)
	undelivered, err := opened.UndeliveredStreams(ctx, "s")
	require.NoError(t, err)
	require.Empty(t, undelivered)
	require.NoError(t, opened.AckStream(ctx, "s", "none", monday))
}

func TestOnlyAStreamWithoutRequestsIsOpenedAgain(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "alone")))
	require.NoError(t, opened.OpenStream(ctx, stream("s", "alone")))
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1")))
	require.ErrorIs(t, opened.OpenStream(ctx, stream("s", "x", "1")), store.ErrExists)
	require.ErrorIs(t, opened.OpenStream(ctx, stream("none", "x", "1")), store.ErrNotFound)
	require.Error(t, opened.OpenStream(ctx, stream("s", "")))
	require.Equal(t, 1, running(t, opened))
}

func TestACancelledRequestWaitsForNoResponse(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1", "2")))
	for _, first := range []bool{true, false} {
		dropped, err := opened.DropRequest(ctx, "s", "x", "1", monday)
		require.NoError(t, err)
		require.Equal(t, first, dropped)
	}
	require.Equal(t, 1, running(t, opened))
	_, err := opened.Answered(ctx, "s", "x", "1", store.Event{})
	require.ErrorIs(t, err, store.ErrAnswered)
	_, err = opened.DropRequest(ctx, "s", "x", "2", monday.Add(time.Minute))
	require.NoError(t, err)
	row, err := opened.Stream(ctx, "s", "x")
	require.NoError(t, err)
	require.Equal(t, monday.Add(time.Minute), row.DoneAt)
	_, err = opened.DropRequest(ctx, "s", "none", "2", monday)
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAStreamKeeps64EventsAnd2MiBTheNewestAlways(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1")))
	for i := range store.MaxStreamEvents + 6 {
		seq, err := opened.AppendEvent(ctx, event(fmt.Sprint(i)))
		require.NoError(t, err)
		require.EqualValues(t, i+1, seq)
	}
	events, err := opened.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, store.MaxStreamEvents)
	require.EqualValues(t, 7, events[0].Seq)

	large := event("")
	large.Data = bytes.Repeat([]byte("a"), store.MaxStreamBytes/2)
	for range 3 {
		_, err := opened.AppendEvent(ctx, large)
		require.NoError(t, err)
	}
	events, err = opened.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 2, "as many as fit")

	huge := event("")
	huge.Data = bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	_, err = opened.AppendEvent(ctx, huge)
	require.NoError(t, err)
	events, err = opened.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.True(t, bytes.Equal(huge.Data, events[0].Data), "10 MiB pass")
	_, err = opened.AppendEvent(ctx, event("after"))
	require.NoError(t, err)
	events, err = opened.Events(ctx, "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.Equal(t, "after", string(events[0].Data))
}

func TestAStreamHasOneOwnerUntilItsTimeIsOver(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	other := again(t, dir)
	ctx := t.Context()
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1"))) // of r1 until a minute after monday
	claim := func(by *store.Store, owner string, now time.Time) (store.Stream, bool) {
		want := store.Stream{Session: "s", ID: "x", Owner: owner, Until: now.Add(time.Minute)}
		row, claimed, err := by.ClaimStream(ctx, want, now)
		require.NoError(t, err)
		return row, claimed
	}
	row, claimed := claim(other, "r2", monday.Add(30*time.Second))
	require.False(t, claimed)
	require.Equal(t, "r1", row.Owner)
	require.NoError(t, opened.RenewStreams(ctx, "r1", monday.Add(2*time.Minute)))
	_, claimed = claim(other, "r2", monday.Add(90*time.Second))
	require.False(t, claimed)
	lapsed, err := other.LapsedStreams(ctx, monday.Add(2*time.Minute), 0)
	require.NoError(t, err)
	require.Empty(t, lapsed)

	now := monday.Add(3 * time.Minute)
	lapsed, err = other.LapsedStreams(ctx, now, 0)
	require.NoError(t, err)
	require.Len(t, lapsed, 1)
	row, claimed = claim(other, "r2", now)
	require.True(t, claimed)
	want := stream("s", "x", "1")
	want.Owner, want.Until = "r2", now.Add(time.Minute)
	require.Equal(t, want, row, "with what has to be answered")
	require.NoError(t, opened.RenewStreams(ctx, "r1", now.Add(time.Hour)))
	row, err = opened.Stream(ctx, "s", "x")
	require.NoError(t, err)
	require.Equal(t, want, row, "who comes back finds it gone")

	_, err = other.Answered(ctx, "s", "x", "1", store.Event{At: now})
	require.NoError(t, err)
	_, claimed = claim(opened, "r1", now.Add(time.Hour))
	require.False(t, claimed, "it is done")
	_, _, err = opened.ClaimStream(ctx, store.Stream{Session: "s", ID: "none", Owner: "r", Until: now}, monday)
	require.ErrorIs(t, err, store.ErrNotFound)
	_, _, err = opened.ClaimStream(ctx, store.Stream{Session: "s", ID: "x", Owner: "r", Until: now}, now)
	require.Error(t, err)
	require.Error(t, opened.RenewStreams(ctx, "", now))
}

func TestOldStreamsArePrunedAndThoseThatGoOnAreNot(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	before := monday.Add(time.Hour)
	held := stream("s", "held", "1")
	held.Until = before.Add(time.Minute)
	late := stream("s", "late", "1")
	late.OpenedAt = before
	for _, each := range []store.Stream{stream("s", "alone"), held, late, stream("s", "done late", "1")} {
		require.NoError(t, opened.OpenStream(ctx, each))
	}
	_, err := opened.Answered(ctx, "s", "done late", "1", store.Event{At: before.Add(time.Minute)})
	require.NoError(t, err)
	_, err = opened.PutInbox(ctx, store.InboxItem{Session: "s", Replica: "s", Kind: "response", At: monday})
	require.NoError(t, err)
	for i := range 70 {
		id := fmt.Sprint("x", i)
		require.NoError(t, opened.OpenStream(ctx, stream("s", id, "1")))
		if i%2 == 0 {
			_, err := opened.Answered(ctx, "s", id, "1", store.Event{At: monday})
			require.NoError(t, err)
		}
	}
	pruned, err := opened.PruneStreams(ctx, before)
	require.NoError(t, err)
	require.EqualValues(t, 70, pruned)
	for _, id := range []string{"alone", "held", "late", "done late"} {
		_, err := opened.Stream(ctx, "s", id)
		require.NoError(t, err, id)
	}
	require.Equal(t, 2, running(t, opened))
	items, err := opened.TakeInbox(ctx, "s", 0)
	require.NoError(t, err)
	require.Empty(t, items)
}

func TestWhatASessionSaysIsReadOnlyInItsOwnPlace(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.PutSession(ctx, session("t")))
	for _, id := range []string{"s", "t"} {
		require.NoError(t, opened.OpenStream(ctx, stream(id, "x", "1")))
		for range 2 {
			_, err := opened.AppendEvent(ctx, store.Event{Session: id, Stream: "x", Data: []byte("{}"), At: monday})
			require.NoError(t, err)
		}
	}
	tamper(t, dir, `UPDATE mcp_event SET data = (SELECT data FROM mcp_event WHERE session = 't' AND seq = 2) WHERE session = 's' AND seq = 2`)
	events, err := opened.Events(ctx, "s", "x", 0, 0)
	requireCorrupt(t, err, "mcp_event", "data", "seq 2")
	require.Len(t, events, 1)
	tamper(t, dir, `UPDATE mcp_stream_messages SET messages = (SELECT messages FROM mcp_stream_messages WHERE session = 't')`)
	_, err = opened.Stream(ctx, "s", "x")
	requireCorrupt(t, err, "mcp_stream_messages", "messages", `"s"`)
	tamper(t, dir, `UPDATE mcp_stream SET requests = '{'`)
	_, err = opened.RunningStreams(ctx, "s")
	requireCorrupt(t, err, "mcp_stream", "requests", `"x"`)
}

func running(t *testing.T, s *store.Store) int {
	t.Helper()
	count, err := s.RunningRequests(t.Context(), "s")
	require.NoError(t, err)
	return count
}
