package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// listItem is one row of `list -o json`.
type listItem struct {
	Workspace   string               `json:"workspace"`
	Name        string               `json:"name"`
	Directory   string               `json:"directory"`
	Engine      string               `json:"engine"`
	State       delivery.State       `json:"state"`
	Since       *time.Time           `json:"since"`
	AgeSeconds  *int64               `json:"ageSeconds"`
	FailureCode string               `json:"failureCode,omitempty"`
	WorkflowID  string               `json:"workflowId"`
	RunID       string               `json:"runId"`
	Snapshot    *connection.Snapshot `json:"snapshot"`
}

func newList(a *App) *cobra.Command {
	var (
		filter connection.Filter
		state  string
	)
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List connections, by state, failure, workspace or engine",
		Long: "Lists the connections whose workflow runs, as they were published last. No worker is needed.\n" +
			"What is wanted and has no workflow is listed as \"not running\", unless --state or --failure-code is given.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		filter.State = delivery.State(state)
		if state != "" && !filter.State.Valid() {
			return usagef("--state must be one of %v", delivery.States())
		}
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		rows, err := remote.Connections.List(ctx, filter)
		if err != nil {
			return err
		}
		items := make([]listItem, 0, len(rows))
		for _, row := range rows {
			items = append(items, newListItem(row, time.Now()))
		}
		if items, err = s.complete(ctx, remote, filter, items); err != nil {
			return err
		}
		list := connectionListing
		if filter == (connection.Filter{}) {
			list.none = "no connections; say what is wanted: holdfast connection apply"
		}
		return list.print(a, items)
	})
	flags := cmd.Flags()
	flags.StringVar(&filter.Workspace, "workspace", "", "only of this workspace")
	flags.StringVar(&filter.Name, "name", "", "only of this name")
	flags.StringVar(&filter.Engine, "engine", "", "only of the engine with this id")
	flags.StringVar(&state, "state", "", "only in this state: not_desired, pending, registering, ready, failed or stale")
	flags.StringVar(&filter.FailureCode, "failure-code", "", "only with this failure, such as mcp_endpoint_unreachable")
	return cmd
}

var connectionListing = listing[listItem]{
	columns: []any{"connection", "state", "since", "age", "failure", "engine", "directory"},
	row: func(i listItem) []any {
		return []any{
			i.Workspace + "/" + i.Name, orNone(string(i.State)), clock(i.Since), ageOf(i.AgeSeconds),
			orNone(i.FailureCode), orNone(i.Engine), orNone(i.Directory),
		}
	},
	none: "no connection is like that",
}

func newListItem(row connection.Listed, now time.Time) listItem {
	item := listItem{
		Workspace: row.Workspace, Name: row.Name, WorkflowID: row.WorkflowID, RunID: row.RunID, Snapshot: row.Snapshot,
	}
	s := row.Snapshot
	if s == nil {
		return item
	}
	item.Directory, item.Engine, item.State, item.Since = s.Directory, s.EngineID, s.State, s.StateSince
	if s.Failure != nil {
		item.FailureCode = string(s.Failure.Code)
	}
	if s.StateSince != nil {
		seconds := max(0, int64(now.Sub(*s.StateSince)/time.Second))
		item.AgeSeconds = &seconds
	}
	return item
}

// summary counts states, for people.
func summary(rows []connection.Listed) (text string, failed int) {
	counts := map[delivery.State]int{}
	for _, row := range rows {
		if row.Snapshot != nil {
			counts[row.Snapshot.State]++
		}
	}
	for _, state := range delivery.States() {
		if n := counts[state]; n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprintf("%d %s", n, state)
		}
	}
	return text, counts[delivery.Failed]
}
