package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func newMCPSession(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "session",
		Aliases: []string{"sessions"},
		Short:   "Sessions of MCP clients: list, show, end",
		Args:    noArguments,
		RunE:    help,
	}
	cmd.AddCommand(newMCPSessionList(a), newMCPSessionGet(a), newMCPSessionTerminate(a))
	return cmd
}

// mcpSessionView is one session of an MCP client.
type mcpSessionView struct {
	views.Session

	TerminatedAt *time.Time `json:"terminatedAt"`
}

func newMCPSessionView(row store.Session) mcpSessionView {
	return mcpSessionView{Session: views.SessionOf(row), TerminatedAt: views.Moment(row.TerminatedAt)}
}

// mcpSession reads the row of an id.
func (s *session) mcpSession(ctx context.Context, id string) (store.Session, error) {
	st, err := s.store(ctx)
	if err != nil {
		return store.Session{}, err
	}
	row, err := st.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		// Not quoted: whoever knows a session's id is halfway in.
		return row, notFoundf("no such session; see: holdfast session list")
	}
	return row, err
}

func newMCPSessionList(a *App) *cobra.Command {
	var (
		filter store.SessionFilter
		all    bool
		limit  limitFlag
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List sessions that are alive, asleep or awake, the latest first",
		Long:    "Lists sessions that are alive, of everybody. Neither Temporal nor a worker is needed.",
		Args:    noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		if err := limit.check(); err != nil {
			return err
		}
		filter.Alive, filter.Limit = !all, limit.limit
		views, err := records(ctx, s, func(ctx context.Context, st *store.Store) ([]store.Session, error) {
			return st.Sessions(ctx, filter)
		}, newMCPSessionView)
		if err != nil {
			return err
		}
		return mcpSessionListing.print(a, views)
	})
	flags := cmd.Flags()
	flags.BoolVar(&all, "all", false, "those too that were terminated")
	flags.StringVar(&filter.Organisation, "organisation", "", "only of this organisation")
	limit.bind(cmd)
	return cmd
}

var mcpSessionListing = listing[mcpSessionView]{
	columns: []any{"session", "client", "account", "mode", "made", "last seen", "terminated"},
	row: func(v mcpSessionView) []any {
		return []any{v.ID, orNone(v.Client), v.Account, v.Mode, clock(v.CreatedAt), clock(v.LastSeenAt), clock(v.TerminatedAt)}
	},
	none: "no sessions; an MCP client makes one when it connects to the gateway's /mcp",
}
