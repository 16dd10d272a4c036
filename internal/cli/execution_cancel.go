package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

func newExecutionCancel(a *App) *cobra.Command {
	var (
		reason string
		wait   time.Duration
	)
	id := oneID("execution", "holdfast execution list")
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Call an execution off; a call that has begun is not undone",
		Long: "Calls an execution off, by its id or an approval's, and prints what became of it. A worker must run. One that has ended stays\n" +
			"as it ended. Exit code 3 where the outcome is not known when the wait is over.",
		Args: func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if len([]rune(reason)) > approval.MaxReason {
			return usagef("--reason must not be longer than %d characters", approval.MaxReason)
		}
		if err := checkWait(wait); err != nil {
			return err
		}
		return s.cancelExecution(ctx, args[0], reason, wait)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why, in your words; kept in the audit")
	cmd.Flags().DurationVar(&wait, "wait", decisionWait, "how long to wait for the outcome, at most 5m")
	return cmd
}

func (s *session) cancelExecution(ctx context.Context, id, reason string, wait time.Duration) error {
	row, err := s.executionOf(ctx, id)
	if err != nil {
		return err
	}
	if _, err := s.connect(ctx); err != nil {
		return err
	}
	engine, err := s.engine(ctx)
	if err != nil {
		return err
	}
	who := s.app.operator(row.Identity.Organisation)
	report, err := engine.Cancel(ctx, who, row.Key, reason)
	if err == nil && report.Status != executions.StatusCompleted && wait > 0 {
		report, err = engine.Resume(ctx, who, executions.Answer{ID: row.Key, Hold: wait})
	}
	if err != nil {
		return explainEngine(err)
	}
	verdict := outcomeError(report, approval.OutcomeCancelled)
	if verdict != nil && report.Outcome != nil {
		verdict = tooLate(row.Outcome != nil, report)
	}
	return s.app.finishCall(s.app.newCallView(who, report), verdict)
}

// tooLate says how an execution ended that was not called off, and how to see more of it.
func tooLate(before bool, report executions.Report) error {
	how := "it ended in another way before it could be called off"
	if before {
		how = "it had ended before"
	}
	by := ""
	if p := report.Pause; p != nil {
		by = decidedBy(views.DecisionOf(p.Decision))
	}
	return failedf("%s, and stays as it is: %s%s; see: holdfast execution get %s", how, report.Outcome.Kind, by, report.Key)
}
