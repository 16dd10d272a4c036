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
		ctx, cancel := context.WithTimeout(ctx, storeReads)
		defer cancel()
		st, err := s.store(ctx)
		if err != nil {
			return err
		}
		rows, err := st.Executions(ctx, filter)
		if rows, err = readable(a, rows, err); err != nil {
			return err
		}
		views := make([]executionView, 0, len(rows))
		for _, row := range rows {
			views = append(views, newExecutionView(row))
		}
		return a.printExecutions(views)
	})
	flags := cmd.Flags()
	flags.StringVar(&state, "state", "", "only in this state: "+strings.Join(views.ExecutionStates(), ", "))
	flags.StringVar(&filter.Address, "tool", "", "only of this tool's address")
	flags.StringVar(&filter.Session, "session", "", "only of this MCP session")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	flags.IntVar(&limit.limit, "limit", store.DefaultLimit, "at most so many, up to 1000")
	return cmd
}

func (a *App) printExecutions(views []executionView) error {
	if a.JSON() {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		a.say("no execution is like that")
		return nil
	}
	t := a.newTable("execution", "tool", "state", "asked", "by", "settled")
	for _, v := range views {
		t.AppendRow([]any{v.Key, v.Address, v.Status, clock(v.CreatedAt), orNone(v.Client), clock(v.SettledAt)})
	}
	t.Render()
	return nil
}
