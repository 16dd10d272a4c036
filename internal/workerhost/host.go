package workerhost

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
	"github.com/holdfast-mcp/holdfast/workflows/engine"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/fleet"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// heartbeatThrottle is how long the SDK may keep a heartbeat back. A watch beats every 5 s and is given up after 15 s.
const heartbeatThrottle = 5 * time.Second

// How many requests for workflow tasks are open at once.
const (
	pollersFirst = 4
	pollersLeast = 2
	pollersMost  = 16
)

// Registrar makes activities known to a worker under their names.
type Registrar interface {
	Register(r worker.ActivityRegistry)
}

// Options are a worker's settings.
type Options struct {
	TaskQueue     string
	MaxActivities int
	// MaxWorkflows are kept in memory between their tasks, by all workers of the process together; 0: as many as the SDK likes.
	MaxWorkflows int
	// StopTimeout is how long running activities may go on after a stop was asked for.
	StopTimeout time.Duration
	// OnFatal is called once, from a goroutine of its own, when the worker cannot go on.
	OnFatal func(error)
}

// Host is one worker. It is started once and stopped once.
type Host struct {
	worker  worker.Worker
	client  client.Client
	fleet   *fleet.Client
	queue   string
	log     *slog.Logger
	running atomic.Bool
}

// New makes a worker with all workflows and the given activities. It does not start it.
func New(c client.Client, o Options, log *slog.Logger, activities ...Registrar) *Host {
	h := &Host{client: c, fleet: fleet.NewClient(c, o.TaskQueue), queue: o.TaskQueue, log: log}
	if o.MaxWorkflows > 0 {
		worker.SetStickyWorkflowCacheSize(o.MaxWorkflows)
	}
	h.worker = worker.New(c, o.TaskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: o.MaxActivities,
		WorkerStopTimeout:                  o.StopTimeout,
		DisableRegistrationAliasing:        true,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		// The SDK's two usual pollers both ask for the next tasks of what runs here while there is a backlog of these, and may then wait
		// a whole minute for one, in which nothing new is begun. Pollers that scale are kept apart.
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
			InitialNumberOfPollers: pollersFirst, MinimumNumberOfPollers: pollersLeast, MaximumNumberOfPollers: pollersMost,
		}),
		OnFatalError: func(err error) {
			h.running.Store(false)
			log.Error("worker cannot go on", "error", err)
			if o.OnFatal != nil {
				o.OnFatal(err)
			}
		},
	})
	RegisterWorkflows(h.worker)
	for _, a := range activities {
		a.Register(h.worker)
	}
	return h
}

// RegisterWorkflows makes every workflow known under its name. Replay tests use it too.
func RegisterWorkflows(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(connection.Workflow, workflow.RegisterOptions{Name: connection.WorkflowName})
	r.RegisterWorkflowWithOptions(engine.Workflow, workflow.RegisterOptions{Name: engine.WorkflowName})
	r.RegisterWorkflowWithOptions(fleet.Workflow, workflow.RegisterOptions{Name: fleet.WorkflowName})
	r.RegisterWorkflowWithOptions(execution.Workflow, workflow.RegisterOptions{Name: execution.WorkflowName})
	r.RegisterWorkflowWithOptions(session.Workflow, workflow.RegisterOptions{Name: session.WorkflowName})
}

// Start begins to poll for work, and sees to it that the fleet's workflow runs.
func (h *Host) Start(ctx context.Context) error {
	if err := h.worker.Start(); err != nil {
		return fmt.Errorf("start worker: %w", err)
	}
	if err := h.fleet.Ensure(ctx); err != nil {
		h.worker.Stop()
		return fmt.Errorf("start worker: %w", err)
	}
	h.running.Store(true)
	h.log.InfoContext(ctx, "worker takes work", "task_queue", h.queue)
	return nil
}

// Stop ends polling and waits for running activities, for the stop timeout at most.
func (h *Host) Stop() {
	h.running.Store(false)
	h.worker.Stop()
}

// Ready reports whether the worker polls and Temporal answers.
func (h *Host) Ready(ctx context.Context) error {
	if !h.running.Load() {
		return errNotRunning
	}
	if _, err := h.client.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("ask Temporal: %w", err)
	}
	return nil
}
