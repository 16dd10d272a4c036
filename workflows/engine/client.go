package engine

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

// ErrNotFound means that no watch of this engine is known to Temporal.
var ErrNotFound = errors.New("no watch of this engine; `holdfast connection apply` starts one")

// Client talks to engine workflows.
type Client struct {
	temporal  client.Client
	taskQueue string
}

// NewClient makes a client for workflows on a task queue.
func NewClient(c client.Client, taskQueue string) *Client {
	return &Client{temporal: c, taskQueue: taskQueue}
}

// Ensure starts the engine's watch where it does not run, and tells it that its connections changed: a watch that was
// about to end for want of connections goes on.
func (c *Client) Ensure(ctx context.Context, engineID string) error {
	_, err := c.temporal.SignalWithStartWorkflow(ctx, ID(engineID), SignalConnectionsChanged, nil,
		client.StartWorkflowOptions{
			ID:                       ID(engineID),
			TaskQueue:                c.taskQueue,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			TypedSearchAttributes:    temporal.NewSearchAttributes(searchattr.Engine.ValueSet(engineID)),
			StaticSummary:            "events of the engine " + engineID,
		}, WorkflowName, &State{EngineID: engineID})
	if err != nil {
		return fmt.Errorf("start watch of engine: %w", err)
	}
	return nil
}

// Running asks Temporal whether the engine's watch runs; no worker is needed.
func (c *Client) Running(ctx context.Context, engineID string) (bool, error) {
	described, err := c.temporal.DescribeWorkflow(ctx, ID(engineID), "")
	switch {
	case ask.NotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for watch of engine: %w", err)
	}
	return described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// Snapshot asks the watch how it stands.
func (c *Client) Snapshot(ctx context.Context, engineID string) (Snapshot, error) {
	value, err := c.temporal.QueryWorkflow(ctx, ID(engineID), "", QuerySnapshot)
	switch {
	case ask.NotFound(err):
		return Snapshot{}, fmt.Errorf("query watch of engine: %w", ErrNotFound)
	case err != nil:
		return Snapshot{}, fmt.Errorf("query watch of engine: %w", err)
	}
	var s Snapshot
	if err := value.Get(&s); err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot of engine: %w", err)
	}
	return s, nil
}
