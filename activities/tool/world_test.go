package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// world is an execution in a real store, and an upstream that a test scripts.
type world struct {
	t     *testing.T
	store *faulty
	key   string

	mu    sync.Mutex
	calls []catalog.CallRequest
	// onCall answers a call; nil is a tool that says ok.
	onCall func(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error)
	asked  []string
	// onAsk answers the request for a pause.
	onAsk func(id string, question approval.Request) (approval.Pause, error)
	// denied is the rule that denies ann's mail.send; empty: none.
	denied string
}

// faulty is a store whose next claims, results or drops fail.
type faulty struct {
	*store.Store

	mu                  sync.Mutex
	claim, finish, drop int
}

var errDisk = errors.New("disk is full")

func (f *faulty) fails(left *int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	*left--
	return *left >= 0
}

func (f *faulty) ClaimCall(ctx context.Context, want store.Call) (store.Call, bool, error) {
	if f.fails(&f.claim) {
		return store.Call{}, false, errDisk
	}
	return f.Store.ClaimCall(ctx, want)
}

func (f *faulty) FinishCall(ctx context.Context, done store.Call) error {
	if f.fails(&f.finish) {
		return errDisk
	}
	return f.Store.FinishCall(ctx, done)
}

func (f *faulty) DropCall(ctx context.Context, key string, number int, fence int64) (bool, error) {
	if f.fails(&f.drop) {
		return false, errDisk
	}
	return f.Store.DropCall(ctx, key, number, fence)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	keyset, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	opened, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "holdfast.db"), Keys: keyset})
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened.Close() })
	w := &world{t: t, store: &faulty{Store: opened}, key: approval.NewKey()}
	_, fresh, err := opened.PutExecution(t.Context(), store.Execution{
		Key: w.key, Identity: approval.Identity{Account: "ann", Organisation: "default"}, Session: "s1", Mode: approval.ModeModel,
		Resource: "default", Client: "test 1", Address: "mail.send", Arguments: []byte(`{"to":"bob"}`), Digest: "d1", Policy: "p1",
		CreatedAt: time.Now(), Status: "running",
	})
	require.NoError(t, err)
	require.True(t, fresh)
	return w
}

func (w *world) activities() *tool.Activities {
	return tool.NewActivities(tool.Params{
		Store: w.store, Upstream: w, Asker: w, Log: slog.New(slog.DiscardHandler), Retention: time.Hour,
		Denied: func(_ context.Context, account, address string) (string, bool) {
			return w.denied, w.denied != "" && account == "ann" && address == "mail.send"
		},
	})
}

func (w *world) Call(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error) {
	w.mu.Lock()
	w.calls = append(w.calls, call)
	answer := w.onCall
	w.mu.Unlock()
	row, err := w.store.Store.Call(ctx, w.key, 1)
	require.NoError(w.t, err, "the call is claimed before the upstream is called")
	require.True(w.t, row.DoneAt.IsZero())
	if answer != nil {
		return answer(ctx, call)
	}
	return catalog.CallResult{Result: json.RawMessage(`{"content":[{"type":"text","text":"ok"}]}`)}, nil
}

func (w *world) Ask(_ context.Context, key, id string, call int, question approval.Request) (approval.Pause, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Equal(w.t, w.key, key)
	require.Equal(w.t, 1, call)
	w.asked = append(w.asked, id)
	return w.onAsk(id, question)
}

func (w *world) request() tool.CallRequest {
	return tool.CallRequest{Key: w.key, Number: 1, Fence: 1, Address: "mail.send", Digest: "d1", Timeout: time.Minute}
}

// claimed claims the call for somebody else.
func (w *world) claimed(fence int64) store.Call {
	w.t.Helper()
	call, claimed, err := w.store.Store.ClaimCall(w.t.Context(), store.Call{
		Key: w.key, Number: 1, Fence: fence, Idempotency: tool.IdempotencyKey(w.key, 1), ClaimedAt: time.Now(),
	})
	require.NoError(w.t, err)
	require.True(w.t, claimed)
	return call
}

func (w *world) finished(call store.Call, result string) {
	w.t.Helper()
	call.Result, call.DoneAt = []byte(result), time.Now()
	require.NoError(w.t, w.store.Store.FinishCall(w.t.Context(), call))
}
