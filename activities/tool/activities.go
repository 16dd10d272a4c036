package tool

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what of the store the activities need. What is not there is [store.ErrNotFound].
type Store interface {
	Execution(ctx context.Context, key string) (store.Execution, error)
	Pause(ctx context.Context, pauseID string) (store.PauseRow, error)
	ClaimCall(ctx context.Context, want store.Call) (found store.Call, claimed bool, err error)
	FinishCall(ctx context.Context, done store.Call) error
	DropCall(ctx context.Context, key string, number int, fence int64) (dropped bool, err error)
	Call(ctx context.Context, key string, number int) (store.Call, error)
	AppendExecutionEvent(ctx context.Context, event store.ExecutionEvent) error
	RecordPaused(ctx context.Context, row store.PauseRow, event store.ExecutionEvent) error
	RecordDecided(ctx context.Context, pause approval.Pause, events []store.ExecutionEvent) error
	RecordOutcome(ctx context.Context, end store.Ending) error
	PutAudit(ctx context.Context, lines ...store.Audit) error
}

// Upstream calls tools; a catalog does. An error is a [*catalog.CallError].
type Upstream interface {
	Call(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error)
}

// Asker opens the pause of a question that a tool asks while it is called. Equal ids are one question.
type Asker interface {
	Ask(ctx context.Context, key, id string, call int, question approval.Request) (approval.Pause, error)
}

// Params are what the activities are made of.
type Params struct {
	Store    Store
	Upstream Upstream
	Asker    Asker
	// Denied tells which rule denies an account a tool now, if one does; nil: none ever.
	Denied func(ctx context.Context, account, address string) (rule string, denied bool)
	Log    *slog.Logger
	// Retention is how long an outcome can be read.
	Retention time.Duration
	// Now is time.Now where it is nil.
	Now func() time.Time
}

// Activities are the activities of this package.
type Activities struct {
	Params
}

// NewActivities makes the activities.
func NewActivities(p Params) *Activities {
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Denied == nil {
		p.Denied = func(context.Context, string, string) (string, bool) { return "", false }
	}
	return &Activities{Params: p}
}

// Register makes the activities known to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.Call, activity.RegisterOptions{Name: CallName})
	r.RegisterActivityWithOptions(a.Settle, activity.RegisterOptions{Name: SettleName})
	r.RegisterActivityWithOptions(a.Record, activity.RegisterOptions{Name: RecordName})
}

const (
	// storePause is the first wait after the store has refused; it doubles up to mostPause.
	storePause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
)

// persist does something with the store, again and again for a while; what is not there, or is not ours any more, is no matter of time.
func persist(ctx context.Context, within time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for wait := storePause; ; wait = min(2*wait, mostPause) {
		err := do(ctx)
		var corrupt *store.CorruptRowError
		if err == nil || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrLeaseLost) || errors.As(err, &corrupt) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}
