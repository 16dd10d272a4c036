package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func newAudit(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Who called and decided what", Args: noArguments, RunE: help}
	cmd.AddCommand(newAuditList(a))
	return cmd
}

// auditView is one line of the audit.
type auditView struct {
	views.Audit

	Pause string `json:"approval,omitempty"`
}

func newAuditView(row store.Audit) auditView {
	return auditView{Audit: views.AuditOf(row), Pause: row.Pause}
}

func newAuditList(a *App) *cobra.Command {
	var (
		filter store.AuditFilter
		limit  limitFlag
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List calls, decisions and outcomes, the latest first",
		Long:    "Lists calls, decisions and outcomes, of everybody. Neither Temporal nor a worker is needed.",
		Args:    noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		if err := limit.check(); err != nil {
			return err
		}
		filter.Limit = limit.limit
		views, err := records(ctx, s, func(ctx context.Context, st *store.Store) ([]store.Audit, error) {
			return st.AuditLog(ctx, filter)
		}, newAuditView)
		if err != nil {
			return err
		}
		return auditListing.print(a, views)
	})
	flags := cmd.Flags()
	flags.StringVar(&filter.Execution, "execution", "", "only of this execution")
	flags.StringVar(&filter.Session, "session", "", "only of this MCP session")
	flags.StringVar(&filter.Address, "tool", "", "only of this tool's address")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	limit.bind(cmd)
	return cmd
}

var auditListing = listing[auditView]{
	columns: []any{"at", "who", "via", "action", "tool", "outcome", "execution", "reason"},
	row: func(v auditView) []any {
		return []any{
			clock(v.At), orNone(cmp.Or(v.Name, v.Principal)), orNone(v.Via), v.Action, orNone(v.Address), orNone(v.Outcome),
			orNone(v.Execution), orNone(v.Reason),
		}
	},
	none: "the audit has nothing like that",
}
