package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// askedEngine is an engine to be asked.
type askedEngine struct {
	*engineapi.Client

	local bool
}

// engines keeps a client per engine, so that reads use open connections.
type engines struct {
	store   Store
	timeout time.Duration

	mu   sync.Mutex
	made map[string]madeEngine
}

type madeEngine struct {
	of     store.Engine
	engine *askedEngine
}

func newEngines(s Store, timeout time.Duration) *engines {
	return &engines{store: s, timeout: timeout, made: map[string]madeEngine{}}
}

// of returns an engine, or the failure that there is none to be asked.
func (e *engines) of(ctx context.Context, id string) (*askedEngine, *health.Failure, error) {
	row, err := e.store.Engine(ctx, id)
	var damaged *store.CorruptRowError
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &damaged) {
		unconfigured := health.EngineUnconfigured()
		return nil, &unconfigured, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read engine: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if m, ok := e.made[id]; ok {
		if m.of.BaseURL == row.BaseURL && m.of.Username == row.Username && m.of.Password == row.Password {
			return m.engine, nil, nil
		}
		m.engine.Close()
	}
	client, err := engineapi.New(engineapi.Options{
		BaseURL: row.BaseURL, Username: row.Username, Password: row.Password, Timeout: e.timeout,
	})
	if err != nil {
		delete(e.made, id)
		unconfigured := health.EngineUnconfigured()
		return nil, &unconfigured, nil
	}
	made := &askedEngine{Client: client, local: onThisMachine(row.BaseURL)}
	e.made[id] = madeEngine{of: row, engine: made}
	return made, nil, nil
}

func (e *engines) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, m := range e.made {
		m.engine.Close()
		delete(e.made, id)
	}
}

func onThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}
