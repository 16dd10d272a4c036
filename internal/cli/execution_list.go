package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func newExecutionList(a *App) *cobra.Command {
	var (
		filter store.ExecutionFilter
		state  string
		limit  limitFlag
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List executions that are kept, the latest first",
		Long: "Lists executions that are kept, of everybody. Neither Temporal nor a worker is needed. A call that no rule gates has no\n" +
			"execution: it is in holdfast audit list.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		if state != "" && !slices.Contains(views.ExecutionStates(), state) {
			return usagef("--state must be one of %v", views.ExecutionStates())
		}
		if err := limit.check(); err != nil {
			return err
		}
		if filter.Limit = limit.limit; state != "" {
			filter.Status = []string{state}
		}
		views, err := records(ctx, s, func(ctx context.Context, st *store.Store) ([]store.Execution, error) {
			return st.Executions(ctx, filter)
		}, newExecutionView)
		if err != nil {
			return err
		}
		return executionListing.print(a, views)
	})
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only in this state: "+strings.Join(views.ExecutionStates(), ", "))
	flags.StringVar(&filter.Address, "tool", "", "only of this tool's address")
	flags.StringVar(&filter.Session, "session", "", "only of this MCP session")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	limit.bind(cmd)
	return cmd
}

var executionListing = listing[executionView]{
	columns: []any{"execution", "tool", "state", "asked", "by", "settled"},
	row: func(v executionView) []any {
		return []any{v.Key, v.Address, v.Status, clock(v.CreatedAt), orNone(v.Client), clock(v.SettledAt)}
	},
	none: "no execution is like that",
}
