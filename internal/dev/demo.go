package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	demoEngineID  = "demo-engine"
	demoWorkspace = "demo"
	demoName      = "tools"
	// dropEvery is how often the demo's engine loses its registration, as a real one does at a reload.
	dropEvery = 30 * time.Second
)

// demo is a simulated engine, a simulated MCP server and the workspace that joins them.
type demo struct {
	key      delivery.Key
	engine   *simulator.Engine
	endpoint *simulator.Endpoint

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// startDemo starts both peers where an earlier start had them, so that nothing changes for the connection, and stores
// what is wanted.
func startDemo(ctx context.Context, s *store.Store, dataDir string) (*demo, error) {
	directory := filepath.Join(dataDir, "demo-workspace")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	directory, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return nil, fmt.Errorf("find workspace: %w", err)
	}
	d := &demo{key: delivery.Key{Workspace: demoWorkspace, Name: demoName, Directory: directory}}
	if err := d.startPeers(ctx, s); err != nil {
		return nil, err
	}
	if err := d.want(ctx, s); err != nil {
		d.stop()
		return nil, err
	}
	dropping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	d.ended.Go(func() { d.drop(dropping) })
	return d, nil
}

func (d *demo) startPeers(ctx context.Context, s *store.Store) error {
	engineAt, endpointAt := addresses(ctx, s, d.key)
	var err error
	if d.engine, err = firstThatStarts(engineAt, func(at string) (*simulator.Engine, error) {
		return simulator.NewEngine(simulator.EngineOptions{ListenAddress: at})
	}); err != nil {
		return err
	}
	d.endpoint, err = firstThatStarts(endpointAt, func(at string) (*simulator.Endpoint, error) {
		return simulator.NewEndpoint(simulator.EndpointOptions{ListenAddress: at, Tools: []string{"echo", "add"}})
	})
	if err != nil {
		d.engine.Close()
	}
	return err
}

// firstThatStarts tries the address of the last time, then any.
func firstThatStarts[T any](at string, start func(string) (T, error)) (T, error) {
	if at != "" {
		if peer, err := start(at); err == nil {
			return peer, nil
		}
	}
	return start("")
}

// addresses are where the peers were the last time; empty where there was none.
func addresses(ctx context.Context, s *store.Store, key delivery.Key) (engineAt, endpointAt string) {
	if row, err := s.Engine(ctx, demoEngineID); err == nil {
		engineAt = hostOf(row.BaseURL)
	}
	if row, err := s.Desired(ctx, key); err == nil {
		endpointAt = hostOf(row.Config.URL)
	}
	return engineAt, endpointAt
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}

func (d *demo) want(ctx context.Context, s *store.Store) error {
	_, errEngine := s.PutEngine(ctx, store.Engine{ID: demoEngineID, BaseURL: d.engine.BaseURL()})
	enabled := true
	_, errDesired := s.PutDesired(ctx, store.Desired{
		Key: d.key, EngineID: demoEngineID, Profile: desired.ProfileGeneric,
		Config: desired.Config{
			Type: "remote", URL: d.endpoint.URL(), Enabled: &enabled, OAuth: json.RawMessage("false"), TimeoutMillis: 5000,
		},
		Metadata: desired.DefaultMetadata(),
	})
	return errors.Join(errEngine, errDesired)
}

// drop loses the registration again and again, as an engine does at a reload.
func (d *demo) drop(ctx context.Context) {
	ticker := time.NewTicker(dropEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			d.engine.Dispose(d.key.Directory)
		}
	}
}

func (d *demo) stop() {
	if d.cancel != nil {
		d.cancel()
	}
	d.ended.Wait()
	d.engine.Close()
	d.endpoint.Close()
}
