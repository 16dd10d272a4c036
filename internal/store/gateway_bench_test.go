package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func BenchmarkSession(b *testing.B) {
	opened, _ := open(b)
	for i := range 1000 {
		require.NoError(b, opened.PutSession(b.Context(), session(fmt.Sprintf("%064x", i))))
	}
	id := fmt.Sprintf("%064x", 500)
	b.ResetTimer()
	for b.Loop() {
		_, err := opened.Session(b.Context(), id)
		require.NoError(b, err)
	}
}

func BenchmarkSessionOf16Callers(b *testing.B) {
	opened, _ := open(b)
	require.NoError(b, opened.PutSession(b.Context(), session("s")))
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := opened.Session(b.Context(), "s")
			require.NoError(b, err)
		}
	})
}

func BenchmarkAppendEvent(b *testing.B) {
	opened, _ := open(b)
	require.NoError(b, opened.PutSession(b.Context(), session("s")))
	require.NoError(b, opened.OpenStream(b.Context(), stream("s", "x", "1")))
	event := store.Event{Session: "s", Stream: "x", Data: []byte(strings.Repeat("x", 1000)), At: monday}
	for b.Loop() {
		_, err := opened.AppendEvent(b.Context(), event)
		require.NoError(b, err)
	}
}

func BenchmarkTakeInboxOfNothing(b *testing.B) {
	opened, _ := open(b)
	require.NoError(b, opened.PutSession(b.Context(), session("s")))
	for b.Loop() {
		_, err := opened.TakeInbox(b.Context(), "s", 0)
		require.NoError(b, err)
	}
}

func BenchmarkExecutionEventsOfNothingNew(b *testing.B) {
	opened, _ := open(b)
	require.NoError(b, opened.AppendExecutionEvent(b.Context(), store.ExecutionEvent{Key: "k", Seq: 1, Kind: store.EventPaused}))
	for b.Loop() {
		_, err := opened.ExecutionEvents(b.Context(), "k", 1)
		require.NoError(b, err)
	}
}

func BenchmarkPutAuditOf64(b *testing.B) {
	opened, _ := open(b)
	lines := make([]store.Audit, 64)
	for i := range lines {
		lines[i] = auditLine()
	}
	for b.Loop() {
		require.NoError(b, opened.PutAudit(b.Context(), lines...))
	}
}

func BenchmarkBeginDirectOf16(b *testing.B) {
	opened, _ := open(b)
	n := 0
	for b.Loop() {
		calls := make([]store.Direct, 16)
		for i := range calls {
			n++
			calls[i] = direct(fmt.Sprint(n))
		}
		_, _, err := opened.BeginDirect(b.Context(), calls)
		require.NoError(b, err)
	}
}

func BenchmarkClaimAndFinishCall(b *testing.B) {
	opened, _ := open(b)
	key := approval.NewKey()
	n := 0
	for b.Loop() {
		n++
		call := store.Call{Key: key, Number: n, Fence: 1, Idempotency: "i", ClaimedAt: monday}
		_, _, err := opened.ClaimCall(b.Context(), call)
		require.NoError(b, err)
		call.Result, call.DoneAt = []byte(`{"content":[]}`), monday
		require.NoError(b, opened.FinishCall(b.Context(), call))
	}
}

func BenchmarkLastChange(b *testing.B) {
	opened, _ := open(b)
	for b.Loop() {
		_, err := opened.LastChange(b.Context())
		require.NoError(b, err)
	}
}
