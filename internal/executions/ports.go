package executions

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// Store is what of the store tool calls need. What is not there is store.ErrNotFound.
type Store interface {
	PutExecution(ctx context.Context, row store.Execution) (existing store.Execution, fresh bool, err error)
	Execution(ctx context.Context, key string) (store.Execution, error)
	ExecutionEvents(ctx context.Context, key string, after int64) ([]store.ExecutionEvent, error)
	Pause(ctx context.Context, id string) (store.PauseRow, error)
	Pauses(ctx context.Context, filter store.PauseFilter) ([]store.PauseRow, error)
	Executions(ctx context.Context, filter store.ExecutionFilter) ([]store.Execution, error)
	Call(ctx context.Context, key string, number int) (store.Call, error)
	RecordOutcome(ctx context.Context, end store.Ending) error
	CountOpenPauses(ctx context.Context, who approval.Identity) (int, error)
	ExecutionByRequest(ctx context.Context, who approval.Identity, request string) (store.Execution, error)
	// BeginDirect gives each row as it is in the store, and whether it is new.
	BeginDirect(ctx context.Context, rows []store.Direct) (existing []store.Direct, fresh []bool, err error)
	FinishDirect(ctx context.Context, row store.Direct) error
	DropDirect(ctx context.Context, row store.Direct) (dropped bool, err error)
	Direct(ctx context.Context, who approval.Identity, name string) (store.Direct, error)
}

// Auditor keeps lines of the audit: all of a call, or none.
type Auditor interface {
	PutAudit(ctx context.Context, lines ...store.Audit) error
}

// Workflows is what of the workflow's client tool calls need. What Temporal does not know any more is execution.ErrNotFound.
type Workflows interface {
	// Start starts an execution; one that was started before is left as it is.
	Start(ctx context.Context, input execution.Input) error
	Resume(ctx context.Context, who approval.Identity, resume execution.Resume) (execution.Resumed, error)
	Cancel(ctx context.Context, key string, cancel execution.Cancel) error
	// Outcome is nil while there is none.
	Outcome(ctx context.Context, key string) (*approval.Outcome, error)
}

// Policy is what applies now.
type Policy struct {
	Rules    []policy.Rule
	Defaults policy.Defaults
	Version  string
}
