package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// residents are the runtimes that this replica holds. A session that sleeps is not among them in any form.
type residents struct {
	mu      sync.Mutex
	entries map[string]*resident
}

// resident is a runtime, or one that is being made: whoever wants it meanwhile waits for the same.
type resident struct {
	ready chan struct{}
	rt    *runtime
	err   error
}

// restoreTimeout bounds the making of a runtime.
const restoreTimeout = 30 * time.Second

func (m *residents) get(id string) *runtime {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.entries[id]
	if entry == nil {
		return nil
	}
	select {
	case <-entry.ready:
		return entry.rt
	default:
		return nil
	}
}

func (m *residents) all() []*runtime {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []*runtime
	for _, entry := range m.entries {
		select {
		case <-entry.ready:
			if entry.rt != nil {
				found = append(found, entry.rt)
			}
		default: // being made: it will see that the endpoint stops
		}
	}
	return found
}

func (m *residents) remove(rt *runtime) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if entry := m.entries[rt.id]; entry != nil && entry.rt == rt {
		delete(m.entries, rt.id)
	}
}

// put adds the runtime of a session that has just been made.
func (m *residents) put(rt *runtime) {
	entry := &resident{ready: make(chan struct{}), rt: rt}
	close(entry.ready)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries[rt.id] = entry
}

// resident gives the session's runtime and restores it where it sleeps: callers that want it at once share one restore.
func (e *Endpoint) resident(ctx context.Context, row store.Session, who auth.Principal) (*runtime, error) {
	m := &e.residents
	m.mu.Lock()
	entry := m.entries[row.ID]
	if entry == nil {
		if len(m.entries) >= e.Settings.MaxResident {
			m.mu.Unlock()
			if err := e.makeRoom(); err != nil {
				return nil, err
			}
			m.mu.Lock()
		}
		if entry = m.entries[row.ID]; entry == nil {
			entry = &resident{ready: make(chan struct{})}
			m.entries[row.ID] = entry
			m.mu.Unlock()
			e.restore(ctx, entry, row, who)
			return entry.rt, entry.err
		}
	}
	m.mu.Unlock()
	select {
	case <-entry.ready:
		return entry.rt, entry.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// restore makes a session's runtime from its row, in place: the client notices nothing. Its caller may go, others wait for it too.
func (e *Endpoint) restore(ctx context.Context, entry *resident, row store.Session, who auth.Principal) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	entry.err = errAsleep // what a panic leaves to those who wait
	defer func() {
		if entry.err != nil {
			entry.rt = nil
			e.residents.mu.Lock()
			delete(e.residents.entries, row.ID)
			e.residents.mu.Unlock()
		}
		close(entry.ready)
	}()
	var state mcp.ServerSessionState
	if err := json.Unmarshal(row.State, &state); err != nil {
		entry.err = fmt.Errorf("restore session: read its state: %w", err)
		return
	}
	rt, err := e.newRuntime(ctx, metaOf(row, who), &state)
	if err != nil {
		entry.err = fmt.Errorf("restore session: %w", err)
		return
	}
	rt.saved, rt.row = row.State, row
	rt.row.State = nil
	entry.rt, entry.err = rt, nil
	rt.arm(e.Settings.Limits.Idle)
	rt.touch("wake")
}

// metaOf is for whom a session's server is built: what its row says, for who asks now.
func metaOf(row store.Session, who auth.Principal) Meta {
	return Meta{
		Session: row.ID, Principal: who, Mode: row.Mode, Resource: resourceKey(row.Resource), Origin: row.Origin, Client: row.Client,
		Protocol: row.Protocol,
	}
}

// resourceKey reads a row of before resources were told apart.
func resourceKey(resource string) string {
	if resource == "" {
		return resourceDefault
	}
	return resource
}

// makeRoom lets the longest idle runtimes sleep, one in sixteen at once.
func (e *Endpoint) makeRoom() error {
	type idle struct {
		rt   *runtime
		used time.Time
	}
	var found []idle
	for _, rt := range e.residents.all() {
		if used, free := rt.idleSince(); free {
			found = append(found, idle{rt, used})
		}
	}
	if len(found) == 0 {
		return errFull
	}
	slices.SortFunc(found, func(a, b idle) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for _, each := range found[:min(len(found), 1+e.Settings.MaxResident/16)] {
		each.rt.sleep(each.used)
	}
	return nil
}
