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

// connectTo is the MCP endpoint of the demo's connection: this gateway.
type connectTo struct {
	url     string
	headers map[string]string
}

// demo is a simulated engine, and a workspace in it that is connected to the gateway.
type demo struct {
	key    delivery.Key
	engine *simulator.Engine

	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// startDemo starts the engine where an earlier start had it, and stores what is wanted.
func startDemo(ctx context.Context, s *store.Store, dataDir string, to connectTo) (*demo, error) {
	directory := filepath.Join(dataDir, "demo-workspace")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	directory, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return nil, fmt.Errorf("find workspace: %w", err)
	}
	d := &demo{key: delivery.Key{Workspace: demoWorkspace, Name: demoName, Directory: directory}}
	if d.engine, err = startEngine(address(ctx, s)); err != nil {
		return nil, err
	}
	if err := d.want(ctx, s, to); err != nil {
		d.stop()
		return nil, err
	}
	dropping, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	d.ended.Go(func() { d.drop(dropping) })
	return d, nil
}

// startEngine tries the address of the last time, then any.
func startEngine(at string) (*simulator.Engine, error) {
	if at != "" {
		if engine, err := simulator.NewEngine(simulator.EngineOptions{ListenAddress: at}); err == nil {
			return engine, nil
		}
	}
	return simulator.NewEngine(simulator.EngineOptions{})
}

// address is where the engine was the last time; empty where there was none.
func address(ctx context.Context, s *store.Store) string {
	row, err := s.Engine(ctx, demoEngineID)
	if err != nil {
		return ""
	}
	u, err := url.Parse(row.BaseURL)
	if err != nil {
		return ""
	}
	return u.Host
}

func (d *demo) want(ctx context.Context, s *store.Store, to connectTo) error {
	_, errEngine := s.PutEngine(ctx, store.Engine{ID: demoEngineID, BaseURL: d.engine.BaseURL()})
	enabled := true
	_, errDesired := s.PutDesired(ctx, store.Desired{
		Key: d.key, EngineID: demoEngineID, Profile: desired.ProfileGeneric,
		Config: desired.Config{
			Type: "remote", URL: to.url, Headers: to.headers, Enabled: &enabled, OAuth: json.RawMessage("false"), TimeoutMillis: 5000,
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
}
