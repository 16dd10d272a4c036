package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// executionDetail is one execution with its pauses, and what its client is told.
type executionDetail struct {
	executionView

	// Arguments are canonical and masked.
	Arguments  json.RawMessage `json:"arguments"`
	Approvals  []approvalView  `json:"approvals"`
	Text       string          `json:"text"`
	Structured any             `json:"structured"`
	IsError    bool            `json:"isError"`
	WorkflowID string          `json:"workflowId"`
}

func newExecutionGet(a *App) *cobra.Command {
	var wait time.Duration
	id := oneID("execution", "holdfast execution list")
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one execution: its approvals, its outcome, the tool's answer",
		Long: "Shows one execution, by its id or an approval's, with the tool's answer where there is one. Neither Temporal nor a worker is\n" +
			"needed. With --wait it waits until there is an outcome; exit code 3 where there is none when the wait is over.",
		Args: func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if err := checkWait(wait); err != nil {
			return err
		}
		if wait > 0 {
			if err := s.untilEnded(ctx, args[0], wait); err != nil {
				return err
			}
		}
		return s.showExecution(ctx, args[0], wait > 0)
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait for the outcome, at most 5m; 0s: show what there is")
	return cmd
}

// showExecution prints an execution; one without an outcome is an error where the outcome was waited for.
func (s *session) showExecution(ctx context.Context, id string, awaited bool) error {
	ctx, cancel := context.WithTimeout(ctx, storeReads)
	defer cancel()
	detail, err := s.executionDetail(ctx, id)
	if err != nil {
		return err
	}
	if err := s.app.printExecution(detail); err != nil || !awaited || detail.Outcome != nil {
		return err
	}
	for _, p := range detail.Approvals {
		if p.State == "waiting" {
			return waitsForPerson(p.ID)
		}
	}
	return goesOn(detail.Key)
}

// untilEnded waits for an outcome, for so long at most. It asks the store: runs write it there, whoever decides.
func (s *session) untilEnded(ctx context.Context, id string, wait time.Duration) error {
	over := time.NewTimer(wait)
	defer over.Stop()
	tick := time.NewTicker(s.app.options.PollEvery)
	defer tick.Stop()
	for {
		row, err := s.executionOf(ctx, id)
		if err != nil || row.Outcome != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return nil
		case <-tick.C:
		}
	}
}

func (s *session) executionDetail(ctx context.Context, id string) (executionDetail, error) {
	row, err := s.executionOf(ctx, id)
	if err != nil {
		return executionDetail{}, err
	}
	engine, err := s.engine(ctx)
	if err != nil {
		return executionDetail{}, err
	}
	who := s.app.operator(row.Identity.Organisation)
	report, err := engine.Lookup(ctx, who, row.Key)
	if err != nil {
		return executionDetail{}, explainEngine(err)
	}
	approvals, err := s.approvals(ctx, store.PauseFilter{Key: row.Key, Limit: store.MaxLimit})
	if err != nil {
		return executionDetail{}, err
	}
	slices.Reverse(approvals)
	said := s.app.newCallView(who, report)
	return executionDetail{
		executionView: newExecutionView(row), Arguments: report.Arguments, Approvals: approvals, Text: said.Text,
		Structured: said.Structured, IsError: said.IsError, WorkflowID: execution.ID(row.Key),
	}, nil
}

func (a *App) printExecution(v executionDetail) error {
	if a.JSON() {
		return a.printJSON(v)
	}
	t := a.newFacts()
	t.row("execution", v.Key)
	t.row("tool", v.Address)
	t.row("state", v.Status)
	t.row("arguments", indented(v.Arguments))
	t.row("asked", clock(v.CreatedAt))
	t.row("by", v.Client)
	t.row("account", v.Account+" of "+v.Organisation)
	t.row("session", v.Session)
	for _, p := range v.Approvals {
		t.row("approval", p.ID+" "+p.State+decidedBy(p.Decision))
	}
	if v.SettledAt != nil {
		t.row("settled", clock(v.SettledAt))
		t.row("kept until", clock(v.RetainedUntil))
	}
	if o := v.Outcome; o != nil {
		t.row("failure", o.Code)
	}
	t.row("workflow", v.WorkflowID)
	t.Render()
	_, err := fmt.Fprintf(a.options.Stdout, "\n%s\n", v.Text)
	return err
}

func decidedBy(d *views.DecisionView) string {
	if d == nil {
		return ""
	}
	text := " by " + d.Who()
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}
