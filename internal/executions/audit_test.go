package executions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// ledger is an audit that can be made to wait or to fail.
type ledger struct {
	mu      sync.Mutex
	lines   []store.Audit
	batches int
	gate    chan struct{} // nil: open
	fail    error
}

func (l *ledger) PutAudit(ctx context.Context, lines ...store.Audit) error {
	if l.gate != nil {
		select {
		case <-l.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.batches++
	l.lines = append(l.lines, lines...)
	return nil
}

func (l *ledger) written() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

func TestTheAuditIsWrittenBehindTheCallersManyLinesAtOnceAndWholeAtTheEnd(t *testing.T) {
	t.Parallel()
	book := &ledger{gate: make(chan struct{})}
	r := allowed(t, func(p *executions.Params) { p.Audit = book })
	const calls = 500
	for n := range calls {
		_, err := r.Execute(t.Context(), r.who, r.call("echo", fmt.Sprint(r.name, n)))
		require.NoError(t, err, "no call waits for the audit")
	}
	require.Zero(t, book.written())
	close(book.gate)
	require.NoError(t, r.Close(t.Context()))
	require.Equal(t, calls, book.written())
	require.Less(t, book.batches, calls/10)
}

func TestWhoeverFindsTheAuditFullWaitsAndLosesNothing(t *testing.T) {
	t.Parallel()
	book := &ledger{gate: make(chan struct{})}
	r := allowed(t, func(p *executions.Params) { p.Audit = book })
	const calls = 6000
	var answered sync.WaitGroup
	for worker := range 8 {
		answered.Go(func() {
			for n := range calls / 8 {
				_, err := r.Execute(context.WithoutCancel(t.Context()), r.who, r.call("echo", fmt.Sprint(r.name, worker, n)))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	close(book.gate)
	answered.Wait()
	require.NoError(t, r.Close(t.Context()))
	require.Equal(t, calls, book.written())
}

// lockedBuffer takes the log of several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestALineThatTheStoreDoesNotTakeIsInTheLog(t *testing.T) {
	t.Parallel()
	book := &ledger{fail: errors.New("disk is full")}
	var log lockedBuffer
	r := allowed(t, func(p *executions.Params) {
		p.Audit, p.Log = book, slog.New(slog.NewTextHandler(&log, nil))
	})
	_, err := r.Execute(t.Context(), r.who, r.call("echo", r.name))
	require.NoError(t, err)
	ending, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, r.Close(ending), context.DeadlineExceeded)
	testkit.Eventually(t, patience, func() bool {
		return bytes.Contains([]byte(log.String()), []byte("address=src.echo"))
	}, "the line is in the log")
	require.Contains(t, log.String(), r.who.Principal)
}
