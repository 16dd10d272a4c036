package ask

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// queryTry is how long one query may take before it is sent again.
const queryTry = 2 * time.Second

// Question is a query of a workflow.
type Question struct {
	WorkflowID string
	// RunID is empty for the current run.
	RunID string
	Name  string
	Args  []any
}

// Query sends a query, again while the context has time and the error is one that may pass: now and then a server does not hand one on
// that comes together with a workflow task (seen with 1.29.1), and the next is answered in milliseconds. The error is that of the last
// try.
func Query(ctx context.Context, c client.Client, q Question, mayPass func(error) bool) (converter.EncodedValue, error) {
	for {
		value, err := once(ctx, c, q)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return value, err
		}
	}
}

func once(ctx context.Context, c client.Client, q Question) (converter.EncodedValue, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTry)
	defer cancel()
	return c.QueryWorkflow(ctx, q.WorkflowID, q.RunID, q.Name, q.Args...)
}
