package executions_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

const taskQueue = "executions"

// world is what all tests share: a dev server, a store, a worker with its upstream. They keep apart by accounts.
var world struct {
	temporal  client.Client
	store     *store.Store
	workflows *execution.Client
	upstream  *upstream
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "executions")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	owned, err := keys.Open(filepath.Join(dir, "keys"))
	if err != nil {
		return 1, err
	}
	if world.store, err = store.Open(ctx, store.Options{Path: filepath.Join(dir, "holdfast.db"), Keys: owned}); err != nil {
		return 1, err
	}
	defer world.store.Close()
	cli, err := temporalclient.FindCLI(ctx, temporalclient.CLIOptions{NoBuild: true})
	if err != nil {
		return 1, fmt.Errorf("%w; run `make tools`", err)
	}
	server, err := temporalclient.StartDevServer(ctx, temporalclient.DevServerOptions{CLI: cli, Headless: true, Retention: 48 * time.Hour})
	if err != nil {
		return 1, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if stop := server.Stop(stopping); err == nil {
			err = stop
		}
	}()
	world.temporal, err = temporalclient.Dial(ctx, temporalclient.Options{
		Role: "test", Version: "test", Address: server.Address(), Namespace: server.Namespace(), AEAD: owned.AEAD(), NoConfigFile: true,
	})
	if err != nil {
		return 1, err
	}
	defer world.temporal.Close()
	world.workflows = execution.NewClient(world.temporal, taskQueue)
	world.upstream = newUpstream()
	w, err := startWorker(taskQueue, world.upstream)
	if err != nil {
		return 1, err
	}
	defer w.Stop()
	return m.Run(), nil
}

// startWorker runs executions of a task queue, whose tools are those of an upstream.
func startWorker(queue string, upstream tool.Upstream) (worker.Worker, error) {
	w := worker.New(world.temporal, queue, worker.Options{})
	w.RegisterWorkflowWithOptions(execution.Workflow, workflow.RegisterOptions{Name: execution.WorkflowName})
	tool.NewActivities(tool.Params{
		Store: world.store, Upstream: upstream, Asker: workerhost.NewAsker(execution.NewClient(world.temporal, queue)),
		Retention: time.Hour, Log: slog.New(slog.DiscardHandler),
	}).Register(w)
	return w, w.Start()
}
