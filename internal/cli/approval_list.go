package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func newApprovalList(a *App) *cobra.Command {
	var (
		filter  store.PauseFilter
		state   string
		id      string
		watch   bool
		timeout time.Duration
		limit   limitFlag
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List what waits for a person, the latest first",
		Long: "Lists what waits for a person, of everybody. Neither Temporal nor a worker is needed.\n" +
			"With --watch it goes on with a line for each approval that is asked for or decided, until Ctrl-C or --timeout; with -o json\n" +
			"each line is then a document.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		if err := limit.check(); err != nil {
			return err
		}
		switch {
		case timeout < 0:
			return usagef("--timeout must not be negative")
		case timeout > 0 && !watch:
			return usagef("--timeout goes with --watch")
		case watch && state != stateOpen:
			return usagef("--watch shows what changes: leave out --state")
		}
		var err error
		if filter.Open, err = openness(state); err != nil {
			return err
		}
		if id != "" {
			row, err := s.executionOf(ctx, id)
			if err != nil {
				return err
			}
			filter.Key = row.Key
		}
		filter.Limit = limit.limit
		if watch {
			return s.watchApprovals(ctx, filter, timeout)
		}
		views, err := s.approvals(ctx, filter)
		if err != nil {
			return err
		}
		return approvalListing(state).print(a, views)
	})
	flags := cmd.Flags()
	flags.StringVar(&state, "state", stateOpen, "open, closed or all")
	flags.StringVar(&filter.Session, "session", "", "only of this MCP session")
	flags.StringVar(&id, "execution", "", "only of this execution")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	limit.bind(cmd)
	flags.BoolVar(&watch, "watch", false, "go on with a line for each change")
	flags.DurationVar(&timeout, "timeout", 0, "end a watch after this time (default: never)")
	return cmd
}

const (
	stateOpen   = "open"
	stateClosed = "closed"
	stateAll    = "all"
)

func openness(state string) (*bool, error) {
	open := state == stateOpen
	switch state {
	case stateOpen, stateClosed:
		return &open, nil
	case stateAll:
		return nil, nil
	default:
		return nil, usagef("--state must be open, closed or all")
	}
}

func (s *session) approvals(ctx context.Context, filter store.PauseFilter) ([]approvalView, error) {
	return records(ctx, s, func(ctx context.Context, st *store.Store) ([]store.PauseRow, error) {
		return st.Pauses(ctx, filter)
	}, newApprovalView)
}

func approvalListing(state string) listing[approvalView] {
	none := "no approval is like that"
	if state == stateOpen {
		none = "nothing waits for a person; what was decided: holdfast approval list --state closed"
	}
	return listing[approvalView]{
		columns: []any{"approval", "tool", "state", "left", "asked", "by", "decided by"},
		row: func(v approvalView) []any {
			decided := noValue
			if v.Decision != nil {
				decided = v.Decision.Who()
			}
			return []any{v.ID, v.Address, v.State, v.left(), clock(v.CreatedAt), orNone(v.Client), decided}
		},
		none: none,
	}
}
