package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// keeper does for all sessions what has to be done again and again: it renews the leases of streams, fetches what other replicas
// left for this one, and acknowledges what was delivered a while ago.
type keeper struct {
	waiting atomic.Int64 // streams with requests that are not answered, and requests of servers
	wake    chan struct{}

	mu        sync.Mutex
	delivered []delivery
	lost      []string // sessions with streams that this replica gives up
}

// delivery is a stream whose last response was written whole by its POST. It is kept for a while: a proxy may have taken it for a
// client that has gone.
type delivery struct {
	session, stream string
	at              time.Time
}

// inboxPage bounds what is fetched at once.
const inboxPage = 100

func (k *keeper) add(change int64) {
	if k.waiting.Add(change) == change && change > 0 {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

func (k *keeper) done(d delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.delivered = append(k.delivered, d)
}

func (k *keeper) giveUp(session string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost = append(k.lost, session)
}

// keep is the keeper's loop. It polls only while something waits.
func (e *Endpoint) keep() {
	timing := e.Settings.Timing
	sweep := time.NewTicker(timing.Sweep)
	defer sweep.Stop()
	poll := time.NewTicker(timing.Poll)
	defer poll.Stop()
	for {
		ticks := poll.C
		if e.keeper.waiting.Load() == 0 {
			ticks = nil
		}
		select {
		case <-e.ending.Done():
			return
		case <-e.keeper.wake:
			poll.Reset(timing.Poll)
		case <-ticks:
			e.fetch()
		case <-sweep.C:
			e.sweep()
		}
	}
}

// sweep renews, gives up and acknowledges.
func (e *Endpoint) sweep() {
	ctx, cancel := context.WithTimeout(e.ending, storeTimeout)
	defer cancel()
	now := e.Now()
	if e.keeper.waiting.Load() > 0 {
		if err := e.Store.RenewStreams(ctx, e.owner, now.Add(e.Settings.Timing.Lease)); err != nil {
			e.Log.WarnContext(ctx, "the leases of MCP streams were not renewed", "error", err)
		}
	}
	e.keeper.mu.Lock()
	lost := e.keeper.lost
	e.keeper.lost = nil
	due := 0
	for due < len(e.keeper.delivered) && now.Sub(e.keeper.delivered[due].at) >= e.Settings.Timing.Grace {
		due++
	}
	delivered := append([]delivery(nil), e.keeper.delivered[:due]...)
	e.keeper.delivered = append([]delivery(nil), e.keeper.delivered[due:]...)
	e.keeper.mu.Unlock()
	for _, session := range lost {
		if err := e.Store.ReleaseStreams(ctx, e.owner, session); err != nil {
			e.keeper.giveUp(session)
		}
	}
	for _, d := range delivered {
		if err := e.Store.AckStream(ctx, d.session, d.stream, now); err != nil && !errors.Is(err, store.ErrNotFound) {
			e.Log.WarnContext(ctx, "a delivered MCP stream was not acknowledged", "error", err)
		}
	}
}

// fetch takes what other replicas left for this one.
func (e *Endpoint) fetch() {
	ctx, cancel := context.WithTimeout(e.ending, storeTimeout)
	defer cancel()
	items, err := e.Store.TakeInbox(ctx, e.owner, inboxPage)
	if err != nil {
		if ctx.Err() == nil {
			e.Log.WarnContext(ctx, "messages of other replicas were not fetched", "error", err)
		}
		return
	}
	for _, item := range items {
		rt := e.residents.get(item.Session)
		m, err := parseMessage(item.Message)
		if rt == nil || err != nil {
			continue // the session was put to sleep or ended meanwhile
		}
		if m.response() {
			rt.replied(&m)
		} else {
			rt.cancel(&m)
		}
	}
}

// forward hands a client's response or cancellation to the runtime that waits for it, here or at another replica.
func (e *Endpoint) forward(ctx context.Context, session string, m *message) error {
	rt := e.residents.get(session)
	if !m.response() {
		if rt != nil && rt.cancel(m) {
			return nil
		}
		return e.cancelElsewhere(ctx, session, m)
	}
	if rt != nil && rt.replied(m) {
		return nil
	}
	replica, ok := replicaOf(m.id)
	if !ok || replica == e.owner {
		return nil // nobody waits for it
	}
	return e.leave(ctx, session, replica, "response", m)
}

// cancelElsewhere tells the replicas that work on a request of that id.
func (e *Endpoint) cancelElsewhere(ctx context.Context, session string, m *message) error {
	var p cancelParams
	if json.Unmarshal(m.params, &p) != nil {
		return nil // a cancellation of nothing is no error
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	running, err := e.Store.RunningStreams(ctx, session)
	if err != nil {
		return &storeError{err}
	}
	for _, s := range running {
		if s.Owner == e.owner || s.Owner == "" || !slices.Contains(s.Requests, string(p.RequestID)) {
			continue
		}
		if err := e.leave(ctx, session, s.Owner, "cancelled", m); err != nil {
			return err
		}
	}
	return nil
}

func (e *Endpoint) leave(ctx context.Context, session, replica, kind string, m *message) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := e.Store.PutInbox(ctx, store.InboxItem{Session: session, Replica: replica, Kind: kind, Message: m.raw, At: e.Now()})
	if err != nil {
		return &storeError{err}
	}
	return nil
}
