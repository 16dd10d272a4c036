package workerhost

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// Asker opens the pauses of what tools ask while they are called.
type Asker struct{ executions *execution.Client }

// NewAsker makes it.
func NewAsker(c *execution.Client) *Asker { return &Asker{executions: c} }

// Ask opens a pause of an execution. Equal ids are one question.
func (a *Asker) Ask(ctx context.Context, key, id string, call int, question approval.Request) (approval.Pause, error) {
	asked, err := a.executions.Ask(ctx, key, id, execution.Ask{Call: call, Request: question})
	return asked.Pause, err
}
