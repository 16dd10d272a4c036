package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	mcpsession "github.com/holdfast-mcp/holdfast/workflows/session"
)

func newMCPSessionTerminate(a *App) *cobra.Command {
	var reason string
	id := oneID("session", "holdfast session list")
	cmd := &cobra.Command{
		Use:   "terminate ID",
		Short: "End a session for good; its executions go on",
		Long: "Ends a session for good: from then on every gateway refuses its id, and the client has to begin anew. What it has asked for\n" +
			"goes on, and can be decided and read as before.",
		Args: func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if len([]rune(reason)) > approval.MaxReason {
			return usagef("--reason must not be longer than %d characters", approval.MaxReason)
		}
		row, err := s.mcpSession(ctx, args[0])
		if err != nil {
			return err
		}
		done, err := s.terminate(ctx, row, reason)
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.printJSON(map[string]any{"id": row.ID, "terminated": done})
		}
		if !done {
			a.say("the session had ended before")
			return nil
		}
		a.say("the session is over")
		return nil
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, in your words; kept in the audit")
	return cmd
}

// terminate ends the row, which is what counts, and tells the workflow, again where that was missed before.
func (s *session) terminate(ctx context.Context, row store.Session, reason string) (bool, error) {
	remote, err := s.connect(ctx)
	if err != nil {
		return false, err
	}
	st, err := s.store(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, storeReads)
	defer cancel()
	now := time.Now()
	done, err := st.TerminateSession(ctx, row.ID, now)
	if err != nil {
		return false, err
	}
	if done {
		err = st.PutAudit(ctx, store.Audit{
			At: now, Identity: row.Identity, Principal: s.app.by(), Name: s.app.by(), Via: string(approval.ViaCLI),
			Action: "session-terminate", Session: row.ID, Outcome: "completed", Reason: reason,
		})
	}
	told := remote.Sessions.Terminate(ctx, row.ID, mcpsession.Terminate{By: s.app.by(), Reason: reason})
	if errors.Is(told, mcpsession.ErrNotFound) {
		told = nil // it has ended, or never began
	}
	return done, errors.Join(err, told)
}
