package cli

import (
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
		ctx, cancel := context.WithTimeout(ctx, storeReads)
		defer cancel()
		st, err := s.store(ctx)
		if err != nil {
			return err
		}
		filter.Limit = limit.limit
		rows, err := st.AuditLog(ctx, filter)
		if err != nil {
			return err
		}
		views := make([]auditView, 0, len(rows))
		for _, row := range rows {
			views = append(views, newAuditView(row))
		}
		return a.printAudit(views)
	})
	flags := cmd.Flags()
	flags.StringVar(&filter.Execution, "execution", "", "only of this execution")
	flags.StringVar(&filter.Session, "session", "", "only of this MCP session")
	flags.StringVar(&filter.Address, "tool", "", "only of this tool's address")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	flags.IntVar(&limit.limit, "limit", store.DefaultLimit, "at most so many, up to 1000")
	return cmd
}

func (a *App) printAudit(views []auditView) error {
	if a.JSON() {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		a.say("the audit has nothing like that")
		return nil
	}
	t := a.newTable("at", "who", "via", "action", "tool", "outcome", "execution", "reason")
	for _, v := range views {
		who := v.Name
		if who == "" {
			who = v.Principal
		}
		t.AppendRow([]any{
			clock(v.At), orNone(who), orNone(v.Via), v.Action, orNone(v.Address), orNone(v.Outcome), orNone(v.Execution), orNone(v.Reason),
		})
	}
	t.Render()
	return nil
}
