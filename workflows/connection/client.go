package connection

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

var (
	// ErrNotFound means that no such connection is known to Temporal.
	ErrNotFound = errors.New("no such connection; `holdfast connection list` shows those there are")
	// ErrNoWorker means that Temporal has the connection and no worker answers for it.
	ErrNoWorker = errors.New("no worker answers for this connection; start one: `holdfast-worker`, or `holdfast dev`")
	// ErrBusy means that the workflow cannot take the request now. Sending it again is safe.
	ErrBusy = errors.New("the connection's workflow is busy; send the request again")
)

const (
	queryDeadline = 10 * time.Second
	resendTries   = 8
	resendPause   = 250 * time.Millisecond
)

// Client talks to connection workflows. It is the only way in: callers never write the names of contract.go themselves.
type Client struct {
	temporal  client.Client
	converter converter.DataConverter
	taskQueue string
}

// NewClient makes a client for workflows on a task queue. The converter is the one that the Temporal client was dialled
// with: it opens what is sealed in a memo.
func NewClient(c client.Client, dc converter.DataConverter, taskQueue string) *Client {
	return &Client{temporal: c, converter: dc, taskQueue: taskQueue}
}

// Ensure starts the connection's workflow where it does not run, and tells it that another config is desired.
func (c *Client) Ensure(ctx context.Context, key delivery.Key, engineID string, changed DesiredChanged) error {
	_, err := c.temporal.SignalWithStartWorkflow(ctx, ID(key), SignalDesiredChanged, changed,
		c.startOptions(key, engineID), WorkflowName, &State{Key: key, EngineID: engineID})
	return explainCall("start connection", err)
}

func (c *Client) startOptions(key delivery.Key, engineID string) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{
		searchattr.Workspace.ValueSet(key.Workspace), searchattr.Name.ValueSet(key.Name),
	}
	if engineID != "" {
		attributes = append(attributes, searchattr.Engine.ValueSet(engineID))
	}
	return client.StartWorkflowOptions{
		ID:                       ID(key),
		TaskQueue:                c.taskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes:    temporal.NewSearchAttributes(attributes...),
		StaticSummary:            text.Clip(fmt.Sprintf("MCP server %s of workspace %s", key.Name, key.Workspace), 120),
		StaticDetails:            fmt.Sprintf("Keeps `%s` registered in the engine for `%s`.", key.Name, key.Directory),
	}
}

// Probe looks and repairs. An equal request id is answered once.
func (c *Client) Probe(ctx context.Context, key delivery.Key, requestID string, in Request) (Health, error) {
	var out Health
	return out, c.update(ctx, key, request{UpdateProbe, requestID, in}, &out)
}

// Reconcile delivers what the store holds now.
func (c *Client) Reconcile(ctx context.Context, key delivery.Key, requestID string, in Request) (Health, error) {
	var out Health
	return out, c.update(ctx, key, request{UpdateReconcile, requestID, in}, &out)
}

// Refresh drops the entry and delivers it anew.
func (c *Client) Refresh(ctx context.Context, key delivery.Key, requestID string, in Request) (RefreshResult, error) {
	var out RefreshResult
	return out, c.update(ctx, key, request{UpdateRefresh, requestID, in}, &out)
}

// Remove disconnects the entry and ends the workflow.
func (c *Client) Remove(ctx context.Context, key delivery.Key, requestID string, in Request) (Health, error) {
	var out Health
	return out, c.update(ctx, key, request{UpdateRemove, requestID, in}, &out)
}

// request is an update as it is sent.
type request struct {
	name, id string
	in       Request
}

// update sends a request under its id and waits for the answer. While the run is being replaced it sends again under
// the same id.
func (c *Client) update(ctx context.Context, key delivery.Key, sent request, out any) error {
	var err error
	for range resendTries {
		if err = c.updateOnce(ctx, key, sent, out); !replaced(err) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(resendPause):
		}
	}
	return explain(sent.name+" connection", err)
}

func (c *Client) updateOnce(ctx context.Context, key delivery.Key, sent request, out any) error {
	ctx, cancel := context.WithTimeout(ctx, UpdateWait+queryDeadline)
	defer cancel()
	return ask.Update(ctx, c.temporal, ask.Request{WorkflowID: ID(key), Name: sent.name, ID: sent.id, Arg: sent.in}, out)
}

// replaced reports whether a request met a run that was just being replaced.
func replaced(err error) bool {
	var app *temporal.ApplicationError
	return ask.CutShort(err) || errors.As(err, &app) && app.Type() == ErrTypeRollingOver
}

// MarkStale distrusts what was delivered.
func (c *Client) MarkStale(ctx context.Context, key delivery.Key, reason string) error {
	return explainCall("mark connection stale",
		c.temporal.SignalWorkflow(ctx, ID(key), "", SignalMarkStale, MarkStale{Reason: reason}))
}

// EngineEvent tells that a generation of the engine's entry is over.
func (c *Client) EngineEvent(ctx context.Context, key delivery.Key, ev EngineEvent) error {
	return explainCall("signal connection", c.temporal.SignalWorkflow(ctx, ID(key), "", SignalEngineEvent, ev))
}

// Wake asks the workflow to look at engine and endpoint now, because somebody saw something else than it tells.
func (c *Client) Wake(ctx context.Context, key delivery.Key) error {
	return c.EngineEvent(ctx, key, EngineEvent{})
}

// Snapshot asks the workflow how the delivery stands; with a revision, as seen by who wants that one.
func (c *Client) Snapshot(ctx context.Context, key delivery.Key, revision *string) (Snapshot, error) {
	var out Snapshot
	return out, c.query(ctx, workflow.Execution{ID: ID(key)}, &out, QuerySnapshot, SnapshotRequest{Revision: revision})
}

// Health asks the workflow for the connection's health as it knows it.
func (c *Client) Health(ctx context.Context, key delivery.Key) (Health, error) {
	var out Health
	return out, c.query(ctx, workflow.Execution{ID: ID(key)}, &out, QueryHealth)
}

// Projection asks what model execution may use.
func (c *Client) Projection(ctx context.Context, key delivery.Key) (Projection, error) {
	var out Projection
	return out, c.query(ctx, workflow.Execution{ID: ID(key)}, &out, QueryProjection)
}

// query asks one run; without a run id, the current one.
func (c *Client) query(ctx context.Context, run workflow.Execution, out any, name string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	value, err := ask.Query(ctx, c.temporal, ask.Question{WorkflowID: run.ID, RunID: run.RunID, Name: name, Args: args}, noWorker)
	if err != nil {
		return explain("query connection", err)
	}
	if err := value.Get(out); err != nil {
		return fmt.Errorf("read answer of query %s: %w", name, err)
	}
	return nil
}

// Description is what Temporal itself knows of a connection; no worker has to run.
type Description struct {
	WorkflowID string
	RunID      string
	Running    bool
	StartedAt  time.Time
	// Snapshot is the last one published; nil before the first.
	Snapshot *Snapshot
}

// Describe reads the connection's last published snapshot from Temporal, with no worker running.
func (c *Client) Describe(ctx context.Context, key delivery.Key) (Description, error) {
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	res, err := c.temporal.DescribeWorkflow(ctx, ID(key), "")
	if err != nil {
		return Description{}, explainCall("describe connection", err)
	}
	info := res.RawResponse.GetWorkflowExecutionInfo()
	d := Description{
		WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId(),
		Running:   info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		StartedAt: info.GetStartTime().AsTime(),
	}
	d.Snapshot, err = c.memoSnapshot(info.GetMemo())
	return d, err
}

// explainCall is for what Temporal answers by itself, with no worker.
func explainCall(op string, err error) error {
	if err != nil && noWorker(err) {
		return fmt.Errorf("%s: Temporal did not answer in time: %w", op, err)
	}
	return explain(op, err)
}

// explain turns what Temporal says into what a caller can act on.
func explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ask.NotFound(err):
		return fmt.Errorf("%s: %w", op, ErrNotFound)
	case ask.Is[*serviceerror.WorkflowNotReady](err), replaced(err):
		return fmt.Errorf("%s: %w", op, ErrBusy)
	case noWorker(err):
		return fmt.Errorf("%s: %w", op, ErrNoWorker)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// noWorker reports whether Temporal took the request and nobody served it in time.
func noWorker(err error) bool {
	return !ask.Is[*serviceerror.QueryFailed](err) && (ask.Late(err) || ask.UpdateLate(err))
}
