package executions

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	auditQueue    = 4096
	auditBatch    = 1024
	auditLinger   = 100 * time.Millisecond
	auditPatience = 30 * time.Second // with a store that takes nothing, before lines go to the log instead
	auditPause    = 250 * time.Millisecond
)

// audit writes lines behind the callers' backs, many at once. Whoever finds the queue full waits. A line that the store does not take is
// written to the log, so that none is lost without a trace.
type audit struct {
	sink Auditor
	log  *slog.Logger

	mu     sync.RWMutex // held shared while a line is put into the queue
	closed bool
	queue  chan store.Audit
	ended  chan struct{}
	cancel context.CancelFunc
}

func startAudit(sink Auditor, log *slog.Logger) *audit {
	ctx, cancel := context.WithCancel(context.Background())
	a := &audit{sink: sink, log: log, queue: make(chan store.Audit, auditQueue), ended: make(chan struct{}), cancel: cancel}
	go a.run(ctx)
	return a
}

func (a *audit) add(line store.Audit) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.closed {
		a.give(context.Background(), []store.Audit{line})
		return
	}
	a.queue <- line // the writer never stops taking lines before the queue is closed
}

func (a *audit) run(ctx context.Context) {
	defer close(a.ended)
	batch := make([]store.Audit, 0, auditBatch)
	for line := range a.queue {
		batch = a.collect(append(batch[:0], line))
		a.give(ctx, batch)
	}
}

// collect waits a moment for more lines: each transaction costs the store a flush of its disk.
func (a *audit) collect(batch []store.Audit) []store.Audit {
	linger := time.NewTimer(auditLinger)
	defer linger.Stop()
	for len(batch) < auditBatch {
		select {
		case line, open := <-a.queue:
			if !open {
				return batch
			}
			batch = append(batch, line)
		case <-linger.C:
			return batch
		}
	}
	return batch
}

func (a *audit) give(ctx context.Context, batch []store.Audit) {
	patience, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	for {
		err := a.put(patience, batch)
		if err == nil {
			return
		}
		select {
		case <-patience.Done():
			a.spill(batch, err)
			return
		case <-time.After(auditPause):
		}
	}
}

func (a *audit) put(ctx context.Context, batch []store.Audit) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return a.sink.PutAudit(ctx, batch...)
}

func (a *audit) spill(batch []store.Audit, cause error) {
	for _, line := range batch {
		a.log.Error("the store did not take a line of the audit", "error", cause, "at", line.At, "principal", line.Principal,
			"organisation", line.Identity.Organisation, "via", line.Via, "action", line.Action, "address", line.Address,
			"execution", line.Execution, "digest", line.Digest, "outcome", line.Outcome)
	}
}

// close writes what is queued. When the context ends first, the rest goes to the log.
func (a *audit) close(ctx context.Context) error {
	a.mu.Lock()
	if !a.closed {
		a.closed = true
		close(a.queue)
	}
	a.mu.Unlock()
	defer a.cancel()
	select {
	case <-a.ended:
		return nil
	case <-ctx.Done():
		a.cancel()
		<-a.ended // it only logs now
		return ctx.Err()
	}
}
