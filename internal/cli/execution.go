package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func newExecution(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "execution",
		Aliases: []string{"executions"},
		Short:   "Tool calls that were gated: list, read the outcome, call off",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(newExecutionList(a), newExecutionGet(a), newExecutionCancel(a))
	return cmd
}

// executionView is one execution.
type executionView struct {
	views.Execution

	SettledAt     *time.Time        `json:"settledAt"`
	RetainedUntil *time.Time        `json:"retainedUntil"`
	Outcome       *approval.Outcome `json:"outcome"`
}

func newExecutionView(row store.Execution) executionView {
	return executionView{
		Execution: views.ExecutionOf(row), SettledAt: views.Moment(row.SettledAt), RetainedUntil: views.Moment(row.Retained),
		Outcome: row.Outcome,
	}
}
