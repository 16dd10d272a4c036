package fleet

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/fleet"
)

const (
	// beat is how often a pass tells the server that it lives; the heartbeat timeout is three times that.
	beat = 5 * time.Second
	// retryAtMost bounds the wait after a pass in which something failed.
	retryAtMost = 30 * time.Second
)

// Passes makes passes; [fleet.Reconciler] does.
type Passes interface {
	Pass(ctx context.Context) (fleet.Result, error)
}

// Activities are the activities of this package.
type Activities struct {
	passes   Passes
	interval time.Duration
}

// NewActivities makes the activities. The interval is the time between two passes.
func NewActivities(p Passes, interval time.Duration) *Activities {
	return &Activities{passes: p, interval: interval}
}

// Register makes the activities known to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.Reconcile, activity.RegisterOptions{Name: ReconcileName})
}

// Reconcile makes one pass.
func (a *Activities) Reconcile(ctx context.Context, in ReconcileRequest) (ReconcileResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	beating := make(chan struct{})
	go func() {
		defer close(beating)
		keepBeating(ctx, cancel)
	}()
	defer func() { cancel(); <-beating }()

	result, err := a.passes.Pass(ctx)
	if err != nil {
		return ReconcileResult{}, fmt.Errorf("reconcile fleet: %w", err)
	}
	if result.Done() || in.Report {
		return answer(result), nil
	}
	return ReconcileResult{}, apperr.NotDue(words(result), a.pause(result))
}

// pause is the wait before the next pass: shorter where this one has left something to do.
func (a *Activities) pause(r fleet.Result) time.Duration {
	if r.Failed+r.InUse > 0 {
		return min(a.interval, retryAtMost)
	}
	return a.interval
}

// words are shown by the Temporal UI.
func words(r fleet.Result) string {
	switch {
	case r.Failed > 0:
		return fmt.Sprintf("not in order: %d of %d connections and their engines could not be mended", r.Failed, r.Wanted)
	case r.InUse > 0:
		return fmt.Sprintf("in order: %s, %d more to end with their sessions", connections(r.Wanted), r.InUse)
	default:
		return "in order: " + connections(r.Wanted)
	}
}

// keepBeating records heartbeats until the pass is over, and ends the pass when the worker stops.
func keepBeating(ctx context.Context, cancel context.CancelFunc) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	activity.RecordHeartbeat(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-activity.GetWorkerStopChannel(ctx):
			cancel()
			return
		case <-ticker.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

func answer(r fleet.Result) ReconcileResult {
	out := ReconcileResult{
		Wanted: r.Wanted, Started: r.Started, Closed: r.Closed, Engines: r.Engines, InUse: r.InUse, Failed: r.Failed,
	}
	for _, f := range r.Failures {
		out.Failures = append(out.Failures, Failure(f))
	}
	return out
}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}
