package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestASessionIsReadByEveryReplicaUntilItEnds(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	_, err := opened.Session(ctx, "s")
	require.ErrorIs(t, err, store.ErrNotFound)
	want := session("s")
	require.NoError(t, opened.PutSession(ctx, want))
	other := again(t, dir)
	got, err := other.Session(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.NoError(t, other.ChangeSessionState(ctx, "s", "2025-06-18", becomes("{}")))
	require.NoError(t, other.TouchSession(ctx, "s", monday.Add(time.Minute)))
	require.NoError(t, other.TouchSession(ctx, "s", monday), "an earlier use that is noted later")
	require.NoError(t, other.TouchSession(ctx, "none", monday))
	want.Protocol, want.State, want.LastSeenAt = "2025-06-18", []byte("{}"), monday.Add(time.Minute)
	got, err = opened.Session(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, want, got)

	require.ErrorIs(t, opened.PutSession(ctx, session("s")), store.ErrExists)
	require.ErrorIs(t, opened.ChangeSessionState(ctx, "none", "", becomes("")), store.ErrNotFound)
	require.Error(t, opened.PutSession(ctx, store.Session{ID: "x"}), "whose is it")
}

func TestATerminatedSessionLeavesItsIDAndNothingElse(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	for _, id := range []string{"s", "t"} {
		require.NoError(t, opened.PutSession(ctx, session(id)))
		require.NoError(t, opened.OpenStream(ctx, stream(id, "x", "1")))
		_, err := opened.AppendEvent(ctx, store.Event{Session: id, Stream: "x", Data: []byte("{}")})
		require.NoError(t, err)
		_, err = opened.PutInbox(ctx, store.InboxItem{Session: id, Kind: "response", Message: []byte("{}")})
		require.NoError(t, err)
	}
	for _, first := range []bool{true, false} {
		done, err := opened.TerminateSession(ctx, "s", monday.Add(time.Hour))
		require.NoError(t, err)
		require.Equal(t, first, done)
	}
	done, err := opened.TerminateSession(ctx, "none", monday)
	require.NoError(t, err)
	require.False(t, done)

	other := again(t, dir)
	want := session("s")
	want.State, want.TerminatedAt = nil, monday.Add(time.Hour)
	got, err := other.Session(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Empty(t, other.RowsOf(t, "s", "mcp_stream", "mcp_stream_messages", "mcp_event", "mcp_inbox"))
	require.NotEmpty(t, other.RowsOf(t, "t", "mcp_stream", "mcp_stream_messages", "mcp_event", "mcp_inbox"))

	require.ErrorIs(t, other.PutSession(ctx, session("s")), store.ErrExists, "ids are never used again")
	require.ErrorIs(t, other.ChangeSessionState(ctx, "s", "", becomes("")), store.ErrNotFound)
	require.ErrorIs(t, other.OpenStream(ctx, stream("s", "y", "1")), store.ErrNotFound)
	_, err = other.AppendEvent(ctx, store.Event{Session: "s", Stream: "x"})
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = other.PutInbox(ctx, store.InboxItem{Session: "s"})
	require.ErrorIs(t, err, store.ErrNotFound)
	require.NoError(t, other.TouchSession(ctx, "s", monday.Add(2*time.Hour)))
	got, err = other.Session(ctx, "s")
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestSessionsAreListedByWhoseTheyAreTheNewestFirst(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	bob := approval.Identity{Account: "bob", Organisation: ann.Organisation}
	for i := range 6 {
		row := session(fmt.Sprint("s", i))
		row.CreatedAt = monday.Add(time.Duration(i/2) * time.Second) // two of each time
		if i%3 == 0 {
			row.Identity = bob
		}
		require.NoError(t, opened.PutSession(ctx, row))
	}
	_, err := opened.TerminateSession(ctx, "s4", monday)
	require.NoError(t, err)
	for _, tc := range []struct {
		filter store.SessionFilter
		want   []string
	}{
		{store.SessionFilter{}, []string{"s5", "s4", "s3", "s2", "s1", "s0"}},
		{store.SessionFilter{Alive: true}, []string{"s5", "s3", "s2", "s1", "s0"}},
		{store.SessionFilter{Organisation: "acme", Alive: true}, []string{"s5", "s3", "s2", "s1", "s0"}},
		{store.SessionFilter{Organisation: "other"}, nil},
		{store.SessionFilter{Identity: &bob}, []string{"s3", "s0"}},
		{store.SessionFilter{Identity: &ann, Alive: true}, []string{"s5", "s2", "s1"}},
		{store.SessionFilter{Identity: &approval.Identity{Account: "bob", Organisation: "other"}}, nil},
	} {
		require.Equal(t, tc.want, idsBy(t, tc.filter, opened.Sessions), "%+v", tc.filter)
		for size := 1; size <= 4; size++ {
			var paged []string
			tc.filter.Limit, tc.filter.Before = size, store.Cursor{}
			for {
				page, err := opened.Sessions(ctx, tc.filter)
				require.NoError(t, err)
				require.LessOrEqual(t, len(page), size)
				if len(page) == 0 {
					break
				}
				for _, each := range page {
					paged = append(paged, each.ID)
				}
				text := page[len(page)-1].Cursor().String()
				tc.filter.Before, err = store.ParseCursor(text)
				require.NoError(t, err)
			}
			require.Equal(t, tc.want, paged, "in pages of %d", size)
		}
	}
}

func idsBy(t *testing.T, filter store.SessionFilter, list func(context.Context, store.SessionFilter) ([]store.Session, error)) (ids []string) {
	t.Helper()
	found, err := list(t.Context(), filter)
	require.NoError(t, err)
	for _, each := range found {
		ids = append(ids, each.ID)
	}
	return ids
}

func TestACursorIsReadBackOrRefused(t *testing.T) {
	t.Parallel()
	for _, want := range []store.Cursor{{}, {At: monday, ID: "s"}, {At: monday, ID: "a.b"}, {ID: "x"}} {
		got, err := store.ParseCursor(want.String())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"x", "1", "x.y", ".", "1'.x;"} {
		_, err := store.ParseCursor(text)
		require.ErrorIs(t, err, store.ErrNotACursor, text)
	}
}

func TestNobodyTakesOverASessionWithoutKeys(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper string }{
		{"another account", `UPDATE mcp_session SET account = 'eve' WHERE id = 's'`},
		{"another organisation", `UPDATE mcp_session SET organisation = 'evil' WHERE id = 's'`},
		{"another mode", `UPDATE mcp_session SET mode = 'model' WHERE id = 's'`},
		{"another resource", `UPDATE mcp_session SET resource = 'toolkit:x' WHERE id = 's'`},
		{"another role", `UPDATE mcp_session SET role = 'owner' WHERE id = 's'`},
		{"another origin", `UPDATE mcp_session SET origin = 'https://evil.example' WHERE id = 's'`},
		{"the state of another", `UPDATE mcp_session SET state = (SELECT state FROM mcp_session WHERE id = 't') WHERE id = 's'`},
		{"under another id", `DELETE FROM mcp_session WHERE id = 's'; INSERT INTO mcp_session SELECT 's', account, organisation, mode, resource,
			role, origin, client, protocol, created_at, last_seen_at, terminated_at, state FROM mcp_session WHERE id = 't'`},
		{"alive again", `UPDATE mcp_session SET state = NULL WHERE id = 's'`},
		{"in clear", `UPDATE mcp_session SET state = CAST('{}' AS BLOB) WHERE id = 's'`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			require.NoError(t, opened.PutSession(t.Context(), session("s")))
			require.NoError(t, opened.PutSession(t.Context(), session("t")))
			tamper(t, dir, tc.tamper)
			_, err := opened.Session(t.Context(), "s")
			requireCorrupt(t, err, "mcp_session", "state", `"s"`)
			all, err := opened.Sessions(t.Context(), store.SessionFilter{})
			requireCorrupt(t, err, "mcp_session", "state", `"s"`)
			require.Equal(t, []store.Session{session("t")}, all)
			require.Error(t, opened.ChangeSessionState(t.Context(), "s", "", becomes("")))
			done, err := opened.TerminateSession(t.Context(), "s", monday)
			require.NoError(t, err)
			require.True(t, done, "it can still be ended")
		})
	}
}

func becomes(state string) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return []byte(state), nil }
}

func TestWhatIsNegotiatedIsChangedByManyAndLosesNothing(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	row := session("s")
	row.State = []byte("{}")
	require.NoError(t, opened.PutSession(t.Context(), row))
	var all sync.WaitGroup
	for i, handle := range []*store.Store{opened, again(t, dir)} {
		for j := range 5 {
			all.Go(func() {
				err := handle.ChangeSessionState(t.Context(), "s", "2025-06-18", func(state []byte) ([]byte, error) {
					members := map[string]bool{}
					if err := json.Unmarshal(state, &members); err != nil {
						return nil, err
					}
					members[fmt.Sprint(i, "/", j)] = true
					return json.Marshal(members)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	got, err := opened.Session(t.Context(), "s")
	require.NoError(t, err)
	members := map[string]bool{}
	require.NoError(t, json.Unmarshal(got.State, &members))
	require.Len(t, members, 10)

	refusal := errors.New("no")
	require.ErrorIs(t, opened.ChangeSessionState(t.Context(), "s", "", func([]byte) ([]byte, error) { return nil, refusal }), refusal)
	same, err := opened.Session(t.Context(), "s")
	require.NoError(t, err)
	require.Equal(t, got, same)
}
