package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

// ErrNotFound means that no fleet workflow of this installation is known to Temporal.
var ErrNotFound = errors.New("the fleet's workflow does not run; a worker starts it, and so does `holdfast setup`")

const callTimeout = 15 * time.Second

// Client talks to the fleet's workflow.
type Client struct {
	temporal  client.Client
	taskQueue string
}

// NewClient makes a client for the workflow of a task queue.
func NewClient(c client.Client, taskQueue string) *Client {
	return &Client{temporal: c, taskQueue: taskQueue}
}

// Ensure starts the workflow where it does not run. One that runs is not disturbed.
func (c *Client) Ensure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := c.temporal.ExecuteWorkflow(ctx, c.startOptions(), WorkflowName, &State{}); err != nil {
		return fmt.Errorf("start fleet workflow: %w", err)
	}
	return nil
}

// ReconcileNow asks for a pass at once, and starts the workflow where it does not run.
func (c *Client) ReconcileNow(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.temporal.SignalWithStartWorkflow(ctx, ID(c.taskQueue), SignalReconcileNow, nil, c.startOptions(), WorkflowName, &State{})
	if err != nil {
		return fmt.Errorf("signal fleet workflow: %w", err)
	}
	return nil
}

func (c *Client) startOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:                       ID(c.taskQueue),
		TaskQueue:                c.taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "connections that are wanted, and their workflows",
	}
}

// Description is what Temporal itself knows of the workflow; no worker has to run.
type Description struct {
	WorkflowID string    `json:"workflowId"`
	Running    bool      `json:"running"`
	StartedAt  time.Time `json:"startedAt"` // of the current run
	// Attempts counts the passes since the last one that changed something.
	Attempts int32 `json:"attempts"`
	// Said is what the last pass said in short; empty before the first.
	Said string `json:"said,omitempty"`
	// NextAt is when the next pass begins; zero while one is under way.
	NextAt time.Time `json:"nextAt,omitzero"`
}

// Describe reads how the workflow stands.
func (c *Client) Describe(ctx context.Context) (Description, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := c.temporal.DescribeWorkflow(ctx, ID(c.taskQueue), "")
	if err != nil {
		return Description{}, explain("describe fleet workflow", err)
	}
	info := res.RawResponse.GetWorkflowExecutionInfo()
	d := Description{
		WorkflowID: info.GetExecution().GetWorkflowId(), StartedAt: info.GetStartTime().AsTime(),
		Running: info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}
	for _, pending := range res.RawResponse.GetPendingActivities() {
		d.Attempts = pending.GetAttempt()
		d.Said = pending.GetLastFailure().GetApplicationFailureInfo().GetType()
		if at := pending.GetNextAttemptScheduleTime(); at != nil {
			d.NextAt = at.AsTime()
		}
	}
	return d, nil
}

// Snapshot asks the workflow what its passes have done; a worker must run.
func (c *Client) Snapshot(ctx context.Context) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	value, err := c.temporal.QueryWorkflow(ctx, ID(c.taskQueue), "", QuerySnapshot)
	if err != nil {
		return Snapshot{}, explain("query fleet workflow", err)
	}
	var s Snapshot
	if err := value.Get(&s); err != nil {
		return Snapshot{}, fmt.Errorf("read snapshot of fleet: %w", err)
	}
	return s, nil
}

func explain(op string, err error) error {
	if ask.NotFound(err) {
		err = ErrNotFound
	}
	return fmt.Errorf("%s: %w", op, err)
}
