package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
)

const (
	startWithin = time.Minute
	stopGrace   = 20 * time.Second
	retention   = 24 * time.Hour
	taskQueue   = "bench"
	serverName  = "cloud"
)

var errNotInTime = errors.New("not in time")

// world is one Holdfast: a Temporal server, a store and a worker, nothing shared with another.
type world struct {
	dir         string
	server      *temporalclient.DevServer
	keys        *keys.Keys
	store       *store.Store
	temporal    client.Client
	connections *connection.Client
	engines     *engine.Client
	worker      *child

	closers []func()
}

// newWorld starts a world. settings are the worker's, by the names of their variables.
func (b *bench) newWorld(ctx context.Context, name string, settings map[string]string) (w *world, err error) {
	w = &world{dir: filepath.Join(b.dir, name)}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return w, err
	}
	if err := w.startServer(ctx); err != nil {
		return w, err
	}
	if w.keys, err = keys.Open(filepath.Join(w.dir, "keys")); err != nil {
		return w, err
	}
	if w.store, err = store.Open(ctx, store.Options{Path: filepath.Join(w.dir, "holdfast.db"), Keys: w.keys}); err != nil {
		return w, err
	}
	w.closers = append(w.closers, func() { _ = w.store.Close() })
	w.temporal, err = temporalclient.Dial(ctx, temporalclient.Options{
		Role: "bench", Version: "bench", Address: w.server.Address(), Namespace: w.server.Namespace(),
		AEAD: w.keys.AEAD(), NoConfigFile: true,
	})
	if err != nil {
		return w, err
	}
	w.closers = append(w.closers, w.temporal.Close)
	w.connections = connection.NewClient(w.temporal, temporalclient.DataConverter(w.keys.AEAD()), taskQueue)
	w.engines = engine.NewClient(w.temporal, taskQueue)
	return w, w.startWorker(ctx, b.worker, settings)
}

func (w *world) startServer(ctx context.Context) error {
	cli, err := temporalclient.FindCLI(ctx, temporalclient.CLIOptions{NoBuild: true})
	if err != nil {
		return fmt.Errorf("%w; run `make tools`", err)
	}
	w.server, err = temporalclient.StartDevServer(ctx, temporalclient.DevServerOptions{
		CLI: cli, Headless: true, Retention: retention,
	})
	if err != nil {
		return err
	}
	w.closers = append(w.closers, func() {
		stopping, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		_ = w.server.Stop(stopping)
	})
	return nil
}

func (w *world) startWorker(ctx context.Context, path string, settings map[string]string) error {
	found, err := freeAddresses(ctx, 2)
	if err != nil {
		return err
	}
	healthAt := found[0]
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir,
		"TEMPORAL_ADDRESS=" + w.server.Address(), "TEMPORAL_NAMESPACE=" + w.server.Namespace(),
		"HOLDFAST_DATA_DIR=" + w.dir, "HOLDFAST_TEMPORAL_TASK_QUEUE=" + taskQueue, "HOLDFAST_LOG_LEVEL=warn",
		"HOLDFAST_WORKER_HEALTH_LISTEN=" + healthAt, "HOLDFAST_CODEC_LISTEN=127.0.0.1:0",
		"HOLDFAST_WORKER_STOP_TIMEOUT=5s", inspectVariable + "=" + found[1],
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	w.worker, err = startChild(filepath.Join(w.dir, "worker.log"), env, path)
	if err != nil {
		return err
	}
	w.worker.inspect = found[1]
	w.closers = append(w.closers, func() { w.worker.stop(stopGrace) })
	health := newHTTPClient()
	return w.await(ctx, startWithin, 50*time.Millisecond, "worker ready", func() (bool, error) {
		answer, err := get(ctx, health, "http://"+healthAt+"/readyz")
		return err == nil && answer.status == http.StatusOK, nil
	})
}

// await asks until it holds. The worker's death ends the wait.
func (w *world) await(
	ctx context.Context, within, every time.Duration, what string, holds func() (bool, error),
) error {
	deadline := time.After(within)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-w.worker.ended:
			return fmt.Errorf("wait for %s: the worker ended; see %s", what, w.worker.log.Name())
		case <-deadline:
			return fmt.Errorf("wait for %s: %w (%s)", what, errNotInTime, within)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close ends what was started, last first.
func (w *world) close() {
	for i := len(w.closers) - 1; i >= 0; i-- {
		w.closers[i]()
	}
	w.closers = nil
}

// put stores what is wanted.
func (w *world) put(ctx context.Context, key delivery.Key, engineID, endpoint string) error {
	enabled := true
	meta := desired.DefaultMetadata()
	_, err := w.store.PutDesired(ctx, store.Desired{
		Key: key, EngineID: engineID, Profile: desired.ProfileGeneric, Metadata: meta,
		Config: desired.Config{
			Type: "remote", URL: endpoint, Enabled: &enabled, OAuth: json.RawMessage("false"), TimeoutMillis: 5000,
		},
	})
	return err
}

// apply stores one connection and its engine and starts both workflows.
func (w *world) apply(ctx context.Context, key delivery.Key, engineURL, endpoint string) error {
	if _, err := w.store.PutEngine(ctx, store.Engine{ID: engineURL, BaseURL: engineURL}); err != nil {
		return err
	}
	if err := w.put(ctx, key, engineURL, endpoint); err != nil {
		return err
	}
	if err := w.connections.Ensure(ctx, key, engineURL, connection.DesiredChanged{Trigger: "bench"}); err != nil {
		return err
	}
	return w.engines.Ensure(ctx, engineURL)
}

// awaitReady waits until the published snapshot is ready in a later generation and returns that generation. It asks
// Temporal, not the worker.
func (w *world) awaitReady(ctx context.Context, key delivery.Key, after int64, within time.Duration) (int64, error) {
	var generation int64
	err := w.await(ctx, within, 20*time.Millisecond, "ready again", func() (bool, error) {
		described, err := w.connections.Describe(ctx, key)
		if err != nil || described.Snapshot == nil {
			return false, err
		}
		generation = described.Snapshot.Generation
		return described.Snapshot.State == delivery.Ready && generation > after, nil
	})
	return generation, err
}

// freeAddress is a loopback address that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

func freeAddresses(ctx context.Context, n int) ([]string, error) {
	found := make([]string, 0, n)
	for range n {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, address)
	}
	return found, nil
}

func splitAddress(at string) (host, port string) {
	host, port, _ = net.SplitHostPort(at)
	return host, port
}
