package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what of the store the activity needs.
type Store interface {
	TerminateSession(ctx context.Context, id string, at time.Time) (done bool, err error)
	PruneStreams(ctx context.Context, before time.Time) (int64, error)
	PruneExecutions(ctx context.Context, now time.Time) (int64, error)
}

// Activities are the activities of this package.
type Activities struct {
	store     Store
	retention time.Duration
	log       *slog.Logger
}

// NewActivities makes the activities. The retention is how long messages are kept that nobody fetches.
func NewActivities(s Store, retention time.Duration, log *slog.Logger) *Activities {
	return &Activities{store: s, retention: retention, log: log}
}

// Register makes the activities known to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.End, activity.RegisterOptions{Name: EndName})
}

// End marks a session as over for good, and clears away what nobody keeps any longer. A session that is over, or that there never was,
// stays so.
func (a *Activities) End(ctx context.Context, in EndRequest) (EndResult, error) {
	ended, err := a.store.TerminateSession(ctx, in.ID, in.At)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return EndResult{}, fmt.Errorf("end session: %w", err)
	}
	return EndResult{Ended: ended, Pruned: a.prune(ctx, in.At)}, nil
}

// prune is for whoever comes last: what it cannot do, the next end does.
func (a *Activities) prune(ctx context.Context, now time.Time) int64 {
	streams, err := a.store.PruneStreams(ctx, now.Add(-a.retention))
	executions, err2 := a.store.PruneExecutions(ctx, now)
	if err := errors.Join(err, err2); err != nil {
		a.log.WarnContext(ctx, "not all was cleared away", "error", err)
	}
	return streams + executions
}
