package executions

import (
	"context"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const intentBatch = 64

// intents writes down that a call is about to be made, before it is. While one transaction is being committed the next callers queue up,
// and share the one after it: nobody waits for a window of time.
type intents struct {
	store   Store
	queue   chan intent
	stop    chan struct{}
	ended   chan struct{}
	stopped sync.Once
}

type intent struct {
	row   store.Direct
	reply chan intentReply
}

type intentReply struct {
	row   store.Direct
	fresh bool
	err   error
}

func startIntents(s Store) *intents {
	i := &intents{store: s, queue: make(chan intent), stop: make(chan struct{}), ended: make(chan struct{})}
	go i.run()
	return i
}

// begin gives the row as it is in the store, and whether it is new.
func (i *intents) begin(ctx context.Context, row store.Direct) (existing store.Direct, fresh bool, err error) {
	ask := intent{row: row, reply: make(chan intentReply, 1)}
	ctx, cancel := context.WithTimeout(ctx, 2*storeTimeout) // its own transaction and the one before it
	defer cancel()
	select {
	case i.queue <- ask:
	case <-i.stop:
		return store.Direct{}, false, errClosed
	case <-ctx.Done():
		return store.Direct{}, false, ctx.Err()
	}
	// Not cut short by the context: a row that was begun must be known to have been.
	reply := <-ask.reply
	return reply.row, reply.fresh, reply.err
}

func (i *intents) run() {
	defer close(i.ended)
	for {
		select {
		case first := <-i.queue:
			i.commit(i.collect(first))
		case <-i.stop:
			return
		}
	}
}

func (i *intents) collect(first intent) []intent {
	batch := []intent{first}
	for len(batch) < intentBatch {
		select {
		case next := <-i.queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

func (i *intents) commit(batch []intent) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	rows := make([]store.Direct, len(batch))
	for n, each := range batch {
		rows[n] = each.row
	}
	existing, fresh, err := i.store.BeginDirect(ctx, rows)
	for n, each := range batch {
		reply := intentReply{err: err}
		if err == nil {
			reply.row, reply.fresh = existing[n], fresh[n]
		}
		each.reply <- reply
	}
}

func (i *intents) close() {
	i.stopped.Do(func() { close(i.stop) })
	<-i.ended
}
