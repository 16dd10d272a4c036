package ask

import (
	"context"

	"go.temporal.io/sdk/client"
)

// Request is an update of a workflow's current run. Equal ids are one update.
type Request struct {
	WorkflowID, Name, ID string
	Arg                  any
}

// Update sends an update and waits for its answer, which out takes; nil takes none.
func Update(ctx context.Context, c client.Client, r Request, out any) error {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: r.WorkflowID, UpdateID: r.ID, UpdateName: r.Name, Args: []any{r.Arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, out)
}
