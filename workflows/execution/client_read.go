package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

// Snapshot reads where an execution is. One that has ended is read from its result: no worker has to run.
func (c *Client) Snapshot(ctx context.Context, key string) (Snapshot, error) {
	var out Snapshot
	err := c.read(ctx, key, QuerySnapshot, &out, func(s Snapshot) { out = s })
	return out, explain("read execution", err)
}

// Pauses reads what was asked. One that has ended is read from its result: no worker has to run.
func (c *Client) Pauses(ctx context.Context, key string) ([]approval.Pause, error) {
	var out []approval.Pause
	err := c.read(ctx, key, QueryPauses, &out, func(s Snapshot) { out = s.Pauses })
	return out, explain("read pauses of execution", err)
}

// Outcome reads how an execution ended; nil while it has not. One that has ended is read from its result: no worker has to run.
func (c *Client) Outcome(ctx context.Context, key string) (*approval.Outcome, error) {
	var out *approval.Outcome
	err := c.read(ctx, key, QueryOutcome, &out, func(s Snapshot) { out = s.Outcome })
	return out, explain("read outcome of execution", err)
}

// Description is what Temporal itself knows of an execution; no worker has to run.
type Description struct {
	WorkflowID string    `json:"workflowId"`
	RunID      string    `json:"runId"`
	Running    bool      `json:"running"`
	StartedAt  time.Time `json:"startedAt"`
	EndedAt    time.Time `json:"endedAt,omitzero"`
	// Status is Temporal's word: Running, Completed, Terminated.
	Status string `json:"status"`
	Events int64  `json:"events"`
}

// Describe reads what Temporal knows of an execution.
func (c *Client) Describe(ctx context.Context, key string) (Description, error) {
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	res, err := c.temporal.DescribeWorkflow(ctx, ID(key), "")
	if err != nil {
		return Description{}, explain("describe execution", err)
	}
	info := res.RawResponse.GetWorkflowExecutionInfo()
	d := Description{
		WorkflowID: info.GetExecution().GetWorkflowId(), RunID: info.GetExecution().GetRunId(),
		Running:   info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		StartedAt: info.GetStartTime().AsTime(), Status: info.GetStatus().String(), Events: info.GetHistoryLength(),
	}
	if at := info.GetCloseTime(); at != nil {
		d.EndedAt = at.AsTime()
	}
	return d, nil
}

// read asks a run that goes on, and takes from the result of one that has ended.
func (c *Client) read(ctx context.Context, key, query string, out any, take func(Snapshot)) error {
	d, err := c.Describe(ctx, key)
	if err != nil {
		return err
	}
	if d.Running {
		err = c.query(ctx, key, query, out)
		if !ask.NotFound(err) {
			return err
		}
	}
	snapshot, err := c.result(ctx, key)
	if err == nil {
		take(snapshot)
	}
	return err
}

// query asks a run, again while there is time.
func (c *Client) query(ctx context.Context, key, name string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	value, err := ask.Query(ctx, c.temporal, ask.Question{WorkflowID: ID(key), Name: name}, noAnswer)
	if err != nil {
		return err
	}
	return value.Get(out)
}

// result is that of a run that has ended.
func (c *Client) result(ctx context.Context, key string) (Snapshot, error) {
	d, err := c.Describe(ctx, key)
	if err != nil {
		return Snapshot{}, err
	}
	if d.Running {
		// It was found closed a moment ago, and no execution is started twice.
		return Snapshot{}, ErrUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	var out Snapshot
	err = c.temporal.GetWorkflow(ctx, ID(key), d.RunID).Get(ctx, &out)
	var ended *temporal.WorkflowExecutionError
	if errors.As(err, &ended) {
		return Snapshot{
			Key: key, Phase: PhaseSettled, Pauses: []approval.Pause{}, StartedAt: d.StartedAt, Outcome: &approval.Outcome{
				Kind: approval.OutcomeUnknown, Code: approval.CodeRunEnded, At: d.EndedAt,
				Message: "the run was ended in Temporal (" + d.Status + "); a call that it made may have run",
			},
		}, nil
	}
	return out, err
}

// explain turns what Temporal says into what a caller can act on.
func explain(op string, err error) error {
	var app *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrUnavailable):
		return fmt.Errorf("%s: %w", op, err)
	case ask.NotFound(err), errors.As(err, &app) && app.Type() == ErrTypeNoPause:
		return fmt.Errorf("%s: %w", op, ErrNotFound)
	case errors.As(err, &app) && app.Type() == ErrTypeBadDecision:
		return fmt.Errorf("%s: %w: %s", op, approval.ErrBadDecision, app.Message())
	case errors.As(err, &app) && app.Type() == ErrTypeNotCalling:
		return fmt.Errorf("%s: %w", op, ErrNotCalling)
	case noAnswer(err):
		return fmt.Errorf("%s: %w (%w)", op, ErrUnavailable, err)
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
}

// noAnswer reports whether a request was not served in time, or did not reach anybody.
func noAnswer(err error) bool {
	return ask.Unserved(err) || ask.UpdateLate(err) || ask.Is[*serviceerror.ResourceExhausted](err)
}
