package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
	mcpsession "github.com/holdfast-mcp/holdfast/workflows/session"
)

// mcpSessionDetail is one session, with what its workflow says.
type mcpSessionDetail struct {
	mcpSessionView

	// Workflow is null where nobody answers.
	Workflow   *mcpsession.Snapshot `json:"workflow"`
	WorkflowID string               `json:"workflowId"`
}

func newMCPSessionGet(a *App) *cobra.Command {
	id := oneID("session", "holdfast session list")
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one session, and what keeps it awake",
		Long: "Shows one session. Its workflow is asked for what keeps it awake; where Temporal or a worker does not answer, the rest is\n" +
			"shown all the same.",
		Args: func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		row, err := s.mcpSession(ctx, args[0])
		if err != nil {
			return err
		}
		detail := mcpSessionDetail{mcpSessionView: newMCPSessionView(row), WorkflowID: mcpsession.ID(row.ID)}
		detail.Workflow = s.wakefulness(ctx, row)
		return a.printMCPSession(detail)
	})
	return cmd
}

// wakefulness asks the session's workflow, and says where it does not answer.
func (s *session) wakefulness(ctx context.Context, row store.Session) *mcpsession.Snapshot {
	if !row.TerminatedAt.IsZero() {
		return nil
	}
	remote, err := s.connect(ctx)
	if err != nil {
		s.app.say("%v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	snapshot, err := remote.Sessions.Snapshot(ctx, row.ID)
	switch {
	case errors.Is(err, mcpsession.ErrNotFound):
		return nil // it has not slept yet, and nothing of it has waited for a person
	case err != nil:
		s.app.say("the session's workflow does not answer; start a worker: holdfast-worker, or holdfast dev")
		return nil
	default:
		return &snapshot
	}
}

func (a *App) printMCPSession(v mcpSessionDetail) error {
	if a.JSON() {
		return a.printJSON(v)
	}
	t := a.newFacts()
	t.row("session", v.ID)
	t.row("client", v.Client)
	t.row("account", v.Account+" of "+v.Organisation)
	t.row("mode", string(v.Mode))
	t.row("resource", v.Resource)
	t.row("role", v.Role)
	t.row("protocol", v.Protocol)
	t.row("made", clock(v.CreatedAt))
	t.row("last seen", clock(v.LastSeenAt))
	if v.TerminatedAt != nil {
		t.row("terminated", clock(v.TerminatedAt))
	}
	if w := v.Workflow; w != nil {
		t.row("ends", clock(&w.ExpiresAt))
		for _, lease := range w.Leases {
			t.row("awake for", lease.PauseID+" until "+clock(&lease.Until))
		}
	}
	t.row("workflow", v.WorkflowID)
	t.Render()
	return nil
}
