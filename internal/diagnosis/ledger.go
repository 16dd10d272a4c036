package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// workerWait is how long a read waits for a worker before it takes what was published last.
const workerWait = time.Second

// Where the delivery was read.
const (
	FromWorkflow = "workflow"
	FromMemo     = "memo"
	FromNowhere  = "none"
)

// ledger is what is known of the delivery.
type ledger struct {
	source   string
	snapshot connection.Snapshot
	// health is the workflow's own; nil unless a worker answered.
	health *connection.Health
}

// readLedger asks a worker, else takes what was published last. An error means that Temporal does not answer.
func (r *Reader) readLedger(ctx context.Context, key delivery.Key) (ledger, error) {
	short, cancel := context.WithTimeout(ctx, workerWait)
	h, err := r.p.Connections.Health(short, key)
	cancel()
	if err == nil {
		return ledger{source: FromWorkflow, snapshot: h.Delivery, health: &h}, nil
	}
	if errors.Is(err, connection.ErrNotFound) {
		return ledger{source: FromNowhere}, nil
	}
	described, err := r.p.Connections.Describe(ctx, key)
	switch {
	case errors.Is(err, connection.ErrNotFound):
		return ledger{source: FromNowhere}, nil
	case err != nil:
		return ledger{}, fmt.Errorf("read delivery: %w", err)
	case !described.Running:
		return ledger{source: FromNowhere}, nil
	case described.Snapshot == nil:
		return ledger{source: FromMemo}, nil
	default:
		return ledger{source: FromMemo, snapshot: *described.Snapshot}, nil
	}
}

// knows reports whether the ledger is about this revision.
func (l ledger) knows(revision string) bool {
	return l.snapshot.DesiredRevision != nil && *l.snapshot.DesiredRevision == revision
}

// of shows the ledger to somebody who wants a revision, or nothing.
func (l ledger) of(key delivery.Key, revision string) connection.Snapshot {
	shown := l.snapshot
	shown.Directory = key.Directory
	switch {
	case revision == "":
		return connection.Snapshot{Snapshot: delivery.Snapshot{State: delivery.NotDesired}, Directory: key.Directory}
	case l.knows(revision):
		return shown
	default:
		return connection.Snapshot{
			Snapshot: delivery.Snapshot{
				State: delivery.Pending, DesiredRevision: &revision, UpdatedAt: shown.UpdatedAt,
				LastAttemptAt: shown.LastAttemptAt, Generation: shown.Generation, Trigger: shown.Trigger,
			},
			EngineID: shown.EngineID, Directory: key.Directory,
		}
	}
}

// proven reports whether the delivery of the revision is ready and verified.
func (l ledger) proven(revision string) bool {
	s := l.snapshot
	if !l.knows(revision) || (l.health != nil && !l.health.Usable) {
		return false
	}
	return s.State == delivery.Ready && s.AppliedRevision != nil && *s.AppliedRevision == revision && s.VerifiedAt != nil
}

// failure is why the delivery is not proven, nil when it is.
func (l ledger) failure(revision string) *health.Failure {
	if l.proven(revision) {
		return nil
	}
	if l.knows(revision) {
		if l.snapshot.Failure != nil {
			return l.snapshot.Failure
		}
		if h := l.health; h != nil && h.FirstFailure != nil && h.FirstFailure.Code != health.CodeCloudMissing {
			return h.FirstFailure
		}
	}
	f := health.DeliveryUnproven(string(l.of(delivery.Key{}, revision).State), l.source != FromNowhere)
	return &f
}

// listed are the direct names of the tools that the endpoint listed last.
func (l ledger) listed(revision string) []string {
	if l.health == nil || l.health.Tools == nil || !l.knows(revision) {
		return nil
	}
	return l.health.Tools.Present
}
