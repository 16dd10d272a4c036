package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// clients keeps one client per engine, made anew when the engine's address or password changes.
type clients struct {
	store   Store
	timeout time.Duration

	mu   sync.Mutex
	made map[string]madeClient
}

type madeClient struct {
	of     store.Engine
	client *engineapi.Client
}

func newClients(s Store, timeout time.Duration) *clients {
	return &clients{store: s, timeout: timeout, made: map[string]madeClient{}}
}

// of returns the client of an engine. An engine that the store does not know is a failure that needs a person.
func (c *clients) of(ctx context.Context, engineID string) (*engineapi.Client, error) {
	row, err := c.store.Engine(ctx, engineID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, apperr.Failed(health.EngineUnconfigured(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("read engine: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m, ok := c.made[engineID]; ok {
		if m.of.BaseURL == row.BaseURL && m.of.Username == row.Username && m.of.Password == row.Password {
			return m.client, nil
		}
		m.client.Close()
	}
	client, err := engineapi.New(engineapi.Options{
		BaseURL: row.BaseURL, Username: row.Username, Password: row.Password, Timeout: c.timeout,
	})
	if err != nil {
		return nil, apperr.Failed(health.EngineUnconfigured(), err)
	}
	c.made[engineID] = madeClient{of: row, client: client}
	return client, nil
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, m := range c.made {
		m.client.Close()
		delete(c.made, id)
	}
}
