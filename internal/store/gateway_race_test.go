package store_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// race lets two handles of one file do something at once, some times each, and counts who has won.
func race(t *testing.T, one, other *store.Store, try func(s *store.Store, i int) (won bool, err error)) (winners int) {
	t.Helper()
	var won atomic.Int64
	var group errgroup.Group
	for i := range 12 {
		group.Go(func() error {
			mine, err := try([]*store.Store{one, other}[i%2], i)
			if mine {
				won.Add(1)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	return int(won.Load())
}

func TestOfManyAtOnceOneWins(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		try  func(t *testing.T) func(s *store.Store, i int) (bool, error)
	}{
		{"who claims a call", func(t *testing.T) func(*store.Store, int) (bool, error) {
			return func(s *store.Store, _ int) (bool, error) {
				_, claimed, err := s.ClaimCall(t.Context(), call(1, 1))
				return claimed, err
			}
		}},
		{"who takes a stream over", func(t *testing.T) func(*store.Store, int) (bool, error) {
			now := monday.Add(time.Hour)
			return func(s *store.Store, i int) (bool, error) {
				want := store.Stream{Session: "s", ID: "x", Owner: fmt.Sprint("r", i), Until: now.Add(time.Minute)}
				_, claimed, err := s.ClaimStream(t.Context(), want, now)
				return claimed, err
			}
		}},
		{"who puts an execution under one name", func(t *testing.T) func(*store.Store, int) (bool, error) {
			return func(s *store.Store, i int) (bool, error) {
				want := execution(i)
				want.Request = "same"
				_, fresh, err := s.PutExecution(t.Context(), want)
				return fresh, err
			}
		}},
		{"who begins a direct call", func(t *testing.T) func(*store.Store, int) (bool, error) {
			return func(s *store.Store, _ int) (bool, error) {
				_, fresh, err := s.BeginDirect(t.Context(), []store.Direct{direct("same")})
				return err == nil && fresh[0], err
			}
		}},
		{"who terminates a session", func(t *testing.T) func(*store.Store, int) (bool, error) {
			return func(s *store.Store, _ int) (bool, error) { return s.TerminateSession(t.Context(), "s", monday) }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := inSession(t)
			require.NoError(t, opened.OpenStream(t.Context(), stream("s", "x", "1")))
			require.Equal(t, 1, race(t, opened, again(t, dir), tc.try(t)))
		})
	}
}

func TestEventsOfManyWritersAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	require.NoError(t, opened.OpenStream(t.Context(), stream("s", "x", "1")))
	race(t, opened, again(t, dir), func(s *store.Store, i int) (bool, error) {
		for range 4 {
			if _, err := s.AppendEvent(t.Context(), event(fmt.Sprint(i))); err != nil {
				return false, err
			}
		}
		return false, nil
	})
	events, err := opened.Events(t.Context(), "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 48)
	for i, each := range events {
		require.EqualValues(t, i+1, each.Seq)
	}
}

func TestOneOfTwoResponsesToARequestCounts(t *testing.T) {
	t.Parallel()
	opened, dir := inSession(t)
	require.NoError(t, opened.OpenStream(t.Context(), stream("s", "x", "1")))
	winners := race(t, opened, again(t, dir), func(s *store.Store, i int) (bool, error) {
		_, err := s.Answered(t.Context(), "s", "x", "1", store.Event{Data: fmt.Append(nil, i)})
		if err != nil {
			return false, ignore(err, store.ErrAnswered)
		}
		return true, nil
	})
	require.Equal(t, 1, winners)
	events, err := opened.Events(t.Context(), "s", "x", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
}

// ignore is nil for one error.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

func TestStreamsThatAreReleasedMayBeClaimedAtOnce(t *testing.T) {
	t.Parallel()
	opened, _ := inSession(t)
	ctx := t.Context()
	require.NoError(t, opened.PutSession(ctx, session("other")))
	later := monday.Add(time.Minute)
	for _, of := range []string{"s", "other"} {
		held := stream(of, "x", "1")
		held.Owner, held.Until = "a", later
		require.NoError(t, opened.OpenStream(ctx, held))
	}
	claim := func(of string) bool {
		_, claimed, err := opened.ClaimStream(ctx, store.Stream{Session: of, ID: "x", Owner: "b", Until: later}, monday)
		require.NoError(t, err)
		return claimed
	}
	require.False(t, claim("s"))
	require.NoError(t, opened.ReleaseStreams(ctx, "nobody", ""))
	require.False(t, claim("s"))
	require.NoError(t, opened.ReleaseStreams(ctx, "a", "s"))
	require.True(t, claim("s"))
	require.False(t, claim("other"), "the other session's are held")
	require.NoError(t, opened.ReleaseStreams(ctx, "a", ""))
	require.True(t, claim("other"))
	require.Error(t, opened.ReleaseStreams(ctx, "", ""))
}
