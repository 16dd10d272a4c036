package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

var (
	// ErrNotFound means that no workflow of this session runs.
	ErrNotFound = errors.New("no such session, or it is over; `holdfast session list` shows those there are")
	// ErrUnavailable means that Temporal cannot be reached or that no worker answers.
	ErrUnavailable = errors.New("no answer: Temporal cannot be reached, or no worker runs")
)

const (
	callTimeout = 15 * time.Second
	// leasesWithin bounds the query of leases: who asks goes on without an answer.
	leasesWithin = 5 * time.Second
	listDefault  = 100
	listMost     = 1000
)

// Client talks to sessions' workflows. It is the only way in: callers never write the names of contract.go themselves.
type Client struct {
	temporal  client.Client
	taskQueue string
}

// NewClient makes a client for workflows on a task queue.
func NewClient(c client.Client, taskQueue string) *Client {
	return &Client{temporal: c, taskQueue: taskQueue}
}

// Touch says that a session was used, and starts its workflow where it does not run. [ErrNotFound] where the session was ended.
func (c *Client) Touch(ctx context.Context, in Input, touch Touch) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.temporal.SignalWithStartWorkflow(ctx, ID(in.ID), SignalTouch, touch, client.StartWorkflowOptions{
		ID:        ID(in.ID),
		TaskQueue: c.taskQueue,
		// A session that has ended stays so: its id is never used again. One that an operator of Temporal has ended may go on.
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			searchattr.Session.ValueSet(in.ID), searchattr.Owner.ValueSet(searchattr.OwnerOf(in.Identity)), searchattr.State.ValueSet(StateActive),
		),
		StaticSummary: "MCP session of " + text.Clip(cmp.Or(in.Client, "a client"), 100),
	}, WorkflowName, in)
	return explain("touch session", err)
}

// Terminate ends a session for good.
func (c *Client) Terminate(ctx context.Context, id string, in Terminate) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return explain("terminate session", c.temporal.SignalWorkflow(ctx, ID(id), "", SignalTerminate, in))
}

// Leases are those that keep a session resident now. A worker has to run; no answer is [ErrUnavailable], and says nothing about leases.
func (c *Client) Leases(ctx context.Context, id string) ([]Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leasesWithin)
	defer cancel()
	var leases []Lease
	if err := c.query(ctx, id, QueryLeases, &leases); err != nil {
		return nil, explain("read leases of session", err)
	}
	// The workflow's own clock stands while it sleeps.
	return alive(leases, time.Now()), nil
}

// Snapshot reads a session; a worker has to run.
func (c *Client) Snapshot(ctx context.Context, id string) (Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var out Snapshot
	if err := c.query(ctx, id, QuerySnapshot, &out); err != nil {
		return Snapshot{}, explain("read session", err)
	}
	out.Leases = alive(out.Leases, time.Now())
	return out, nil
}

// query asks again while there is time.
func (c *Client) query(ctx context.Context, id, name string, out any) error {
	value, err := ask.Query(ctx, c.temporal, ask.Question{WorkflowID: ID(id), Name: name}, ask.Unserved)
	if err != nil {
		return err
	}
	return value.Get(out)
}

// Filter narrows a list. Empty fields do not.
type Filter struct {
	Identity *approval.Identity
	// Ended also lists sessions that are over, for as long as Temporal keeps them.
	Ended bool
	// Limit is 1 to 1,000; 0 is 100.
	Limit int
}

// Listed is one row of a list. It is read from Temporal's visibility alone: no query, no worker.
type Listed struct {
	ID        string    `json:"id"`
	StartedAt time.Time `json:"startedAt"`
	Running   bool      `json:"running"`
}

// List shows sessions, the latest started first.
func (c *Client) List(ctx context.Context, f Filter) ([]Listed, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	limit := f.Limit
	if limit <= 0 {
		limit = listDefault
	}
	rows, token := []Listed{}, []byte(nil)
	for limit = min(limit, listMost); len(rows) < limit; {
		page, err := c.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: c.where(f), PageSize: int32(min(limit, listDefault)), NextPageToken: token,
		})
		if err != nil {
			return nil, explain("list sessions", err)
		}
		for _, e := range page.GetExecutions() {
			id, ok := ParseID(e.GetExecution().GetWorkflowId())
			if ok && len(rows) < limit && e.GetTaskQueue() == c.taskQueue {
				rows = append(rows, Listed{
					ID: id, StartedAt: e.GetStartTime().AsTime(), Running: e.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
				})
			}
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			break
		}
	}
	return rows, nil
}

// risky are the characters that a server with SQLite or MySQL visibility does not take as they are, however they are escaped.
const risky = "'\"\\`"

func (c *Client) where(f Filter) string {
	query := []string{"WorkflowType = '" + WorkflowName + "'"}
	if !strings.ContainsAny(c.taskQueue, risky) {
		query = append(query, "TaskQueue = '"+c.taskQueue+"'")
	}
	if f.Identity != nil {
		query = append(query, searchattr.Owner.GetName()+" = '"+searchattr.OwnerOf(*f.Identity)+"'")
	}
	if !f.Ended {
		query = append(query, "ExecutionStatus = 'Running'")
	}
	return strings.Join(query, " AND ")
}

func explain(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ask.NotFound(err), ask.Is[*serviceerror.WorkflowExecutionAlreadyStarted](err):
		return fmt.Errorf("%s: %w", op, ErrNotFound)
	case ask.Unserved(err):
		return fmt.Errorf("%s: %w (%w)", op, ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}
