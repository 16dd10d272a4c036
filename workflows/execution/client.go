package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/searchattr"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient/ask"
)

var (
	// ErrNotFound means that no such execution is known to Temporal, or that it has no such pause.
	ErrNotFound = errors.New("no such execution, or its outcome is not kept any longer")
	// ErrUnavailable means that Temporal cannot be reached or that no worker answers. Sending the request again is safe.
	ErrUnavailable = errors.New("no answer: Temporal cannot be reached, or no worker runs; send the request again")
	// ErrNotCalling means that a tool has asked for something while its execution makes no call.
	ErrNotCalling = errors.New("the tool is not called now: nobody can be asked")
)

const (
	startDeadline  = 15 * time.Second
	updateDeadline = 30 * time.Second
	queryDeadline  = 10 * time.Second
	resendTries    = 4
	resendPause    = 250 * time.Millisecond
)

// Client talks to executions. It is the only way in: callers never write the names of contract.go themselves.
type Client struct {
	temporal  client.Client
	taskQueue string
}

// NewClient makes a client for workflows on a task queue.
func NewClient(c client.Client, taskQueue string) *Client {
	return &Client{temporal: c, taskQueue: taskQueue}
}

// Start starts an execution. One that was started before, and may have ended, is left as it is.
func (c *Client) Start(ctx context.Context, in Input) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	attributes := []temporal.SearchAttributeUpdate{
		searchattr.Tool.ValueSet(in.Address), searchattr.Owner.ValueSet(searchattr.OwnerOf(in.Identity)),
	}
	if in.Session != "" {
		attributes = append(attributes, searchattr.Session.ValueSet(in.Session))
	}
	summary := "call " + in.Address
	if in.Gate != nil {
		summary += " once a person agrees"
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                    ID(in.Key),
		TaskQueue:             c.taskQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
		StaticSummary:         text.Clip(summary, 120),
		StaticDetails:         fmt.Sprintf("Calls `%s`, at most once for each decision. Digest of the call: `%s`.", in.Address, in.Digest),
	}, WorkflowName, in)
	if ask.Is[*serviceerror.WorkflowExecutionAlreadyStarted](err) {
		return nil
	}
	return explain("start execution", err)
}

// Resume decides on a pause for an identity, which the caller has compared with the execution's before. The verdict is about what this
// caller asks for, also where the same identity has asked for something else before.
func (c *Client) Resume(ctx context.Context, who approval.Identity, in Resume) (Resumed, error) {
	key, n, err := approval.ParseID(in.PauseID)
	if err != nil || n == 0 {
		return Resumed{}, fmt.Errorf("resume execution: %w", ErrNotFound)
	}
	if err := in.Decision.Check(); err != nil {
		return Resumed{}, fmt.Errorf("resume execution: %w", err)
	}
	var out Resumed
	err = c.update(ctx, key, update{UpdateResume, ResumeUpdateID(in.PauseID, who), in}, &out)
	if errors.Is(err, errClosed) {
		return c.judgeClosed(ctx, key, in)
	}
	if err != nil {
		return Resumed{}, explain("resume execution", err)
	}
	if verdict, over := out.Pause.Judge(in.Decision); over && verdict != approval.VerdictRepeated {
		// The update's id is that of the first wish of this identity, and so is its answer.
		out.Verdict = verdict
	}
	return out, nil
}

// judgeClosed holds a wish against what an execution that has ended says of its pause.
func (c *Client) judgeClosed(ctx context.Context, key string, in Resume) (Resumed, error) {
	snapshot, err := c.result(ctx, key)
	if err != nil {
		return Resumed{}, explain("resume execution", err)
	}
	for _, pause := range snapshot.Pauses {
		if verdict, over := pause.Judge(in.Decision); over && pause.ID == in.PauseID {
			return Resumed{Verdict: verdict, Pause: pause}, nil
		}
	}
	return Resumed{}, fmt.Errorf("resume execution: %w", ErrNotFound)
}

// Ask opens a pause for what a tool asks while it is called. Equal ids are one question.
func (c *Client) Ask(ctx context.Context, key, id string, in Ask) (Asked, error) {
	var out Asked
	err := c.update(ctx, key, update{UpdateAsk, id, in}, &out)
	if errors.Is(err, errClosed) {
		err = ErrNotCalling
	}
	return out, explain("ask for execution", err)
}

// Cancel calls an execution off. One that has ended stays as it ended, and that is no error.
func (c *Client) Cancel(ctx context.Context, key string, in Cancel) error {
	err := c.update(ctx, key, update{UpdateCancel, UpdateCancel + "/" + in.By, in}, nil)
	if errors.Is(err, errClosed) {
		_, err = c.Describe(ctx, key)
	}
	return explain("cancel execution", err)
}

// errClosed means that a run has ended, so that it takes no update.
var errClosed = errors.New("the run has ended")

// update is one as it is sent.
type update struct {
	name, id string
	in       any
}

// update sends an update under its id and waits for its answer. One that met a run that was just ending is sent again: the answer
// is then that of the run's end.
func (c *Client) update(ctx context.Context, key string, sent update, out any) error {
	ctx, cancel := context.WithTimeout(ctx, updateDeadline)
	defer cancel()
	var err error
	for range resendTries {
		err = ask.Update(ctx, c.temporal, ask.Request{WorkflowID: ID(key), Name: sent.name, ID: sent.id, Arg: sent.in}, out)
		if !ask.CutShort(err) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(resendPause):
		}
	}
	if ask.NotFound(err) {
		return errClosed
	}
	return err
}
