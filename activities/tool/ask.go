package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// followFirst is the first wait between two looks at a pause, which grows to followMost while nobody decides.
	followFirst = 50 * time.Millisecond
	followMost  = time.Second
	// overdue is how long after its deadline a pause is followed whose end nobody has written down.
	overdue = time.Minute
)

// ReasonTimeout is the reason of the decline by which a tool learns that nobody has answered in time.
const ReasonTimeout = "approval_timeout"

// questions are those that a tool asks during one try of a call.
type questions struct {
	activities *Activities
	in         CallRequest
	clock      *patience

	mu    sync.Mutex
	asked map[string]int
}

// elicit asks a person and waits for the decision, while the clock of the call stands still.
func (q *questions) elicit(ctx context.Context, question approval.Request) (approval.Decision, error) {
	q.clock.hold()
	defer q.clock.goOn()
	id, err := q.id(question)
	if err != nil {
		return approval.Decision{}, err
	}
	pause, err := q.activities.Asker.Ask(ctx, q.in.Key, id, q.in.Number, question)
	if err != nil {
		return approval.Decision{}, fmt.Errorf("ask a person: %w", err)
	}
	if pause, err = q.follow(ctx, pause); err != nil {
		return approval.Decision{}, fmt.Errorf("wait for a decision: %w", err)
	}
	return answer(pause), nil
}

// id is the same when the same call is made again and asks the same for the n-th time: then what was decided holds.
func (q *questions) id(question approval.Request) (string, error) {
	raw, err := json.Marshal(question)
	if err != nil {
		return "", fmt.Errorf("read question: %w", err)
	}
	sum := sha256.Sum256(raw)
	digest := hex.EncodeToString(sum[:8])
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asked == nil {
		q.asked = map[string]int{}
	}
	q.asked[digest]++
	return fmt.Sprintf("ask/%d/%s/%d", q.in.Number, digest, q.asked[digest]), nil
}

// follow waits until a pause is decided, expired or dropped.
func (q *questions) follow(ctx context.Context, pause approval.Pause) (approval.Pause, error) {
	for wait := followFirst; pause.Open(); wait = min(wait*5/4, followMost) {
		select {
		case <-ctx.Done():
			return pause, ctx.Err()
		case <-time.After(wait):
		}
		row, err := q.activities.Store.Pause(ctx, pause.ID)
		switch {
		case err == nil:
			pause = row.Pause
		case !errors.Is(err, store.ErrNotFound):
			// The store cannot be read just now. What is decided stays decided.
			q.activities.Log.DebugContext(ctx, "pause not read", "pause", pause.ID, "error", err)
		}
		if pause.Open() && q.activities.Now().After(pause.Deadline.Add(overdue)) {
			pause.Expired = true
		}
	}
	return pause, nil
}

// answer is what a tool is told. Nobody's decision is a decline that says so.
func answer(p approval.Pause) approval.Decision {
	switch {
	case p.Decision != nil:
		return *p.Decision
	case p.Expired:
		return approval.Decision{Action: approval.ActionDecline, Reason: ReasonTimeout, At: p.Deadline}
	default:
		return approval.Decision{Action: approval.ActionCancel}
	}
}
