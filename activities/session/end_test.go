package session_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

// fake is a store that answers as scripted.
type fake struct {
	done             bool
	err, pruneErr    error
	before, pruneNow time.Time
	terminated       int
}

func (f *fake) TerminateSession(context.Context, string, time.Time) (bool, error) {
	f.terminated++
	return f.done, f.err
}

func (f *fake) PruneStreams(_ context.Context, before time.Time) (int64, error) {
	f.before = before
	return 2, f.pruneErr
}

func (f *fake) PruneExecutions(_ context.Context, now time.Time) (int64, error) {
	f.pruneNow = now
	return 3, nil
}

func TestASessionIsEndedAndWhatNobodyKeepsIsClearedAway(t *testing.T) {
	t.Parallel()
	at := time.Now().UTC()
	for _, tc := range []struct {
		name   string
		store  fake
		failed bool
		want   session.EndResult
	}{
		{"alive", fake{done: true}, false, session.EndResult{Ended: true, Pruned: 5}},
		{"over already", fake{}, false, session.EndResult{Pruned: 5}},
		{"never was", fake{err: store.ErrNotFound}, false, session.EndResult{Pruned: 5}},
		{"store down", fake{err: errors.New("database is locked")}, true, session.EndResult{}},
		{"cannot be cleared away", fake{done: true, pruneErr: errors.New("database is locked")}, false, session.EndResult{Ended: true, Pruned: 5}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := tc.store
			set := session.NewActivities(&s, time.Hour, slog.New(slog.DiscardHandler))
			got, err := peers.Try[session.EndResult](t, set, session.EndName, session.EndRequest{ID: "s1", At: at})
			require.Equal(t, tc.failed, err != nil)
			require.Equal(t, tc.want, got)
			require.Equal(t, 1, s.terminated)
			if !tc.failed {
				require.True(t, s.before.Equal(at.Add(-time.Hour)))
				require.True(t, s.pruneNow.Equal(at))
			}
		})
	}
}
