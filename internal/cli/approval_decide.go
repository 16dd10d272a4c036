package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

// decisionWait is how long a decision waits for what follows.
const decisionWait = 30 * time.Second

// verdict is what approve, decline and cancel have in common.
type verdict struct {
	action           approval.Action
	wanted           approval.OutcomeKind
	use, short, long string
}

// verdictFlags go with a decision.
type verdictFlags struct {
	reason, content string
	wait            time.Duration
}

func (f verdictFlags) check() error {
	switch {
	case f.content != "" && !isObject(f.content):
		return usagef("--content must be a JSON object")
	case len([]rune(f.reason)) > approval.MaxReason:
		return usagef("--reason must not be longer than %d characters", approval.MaxReason)
	default:
		return checkWait(f.wait)
	}
}

func isObject(text string) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &object) == nil && object != nil
}

func checkWait(wait time.Duration) error {
	if wait < 0 || wait > executions.MaxHold {
		return usagef("--wait must be 0s to %s", executions.MaxHold)
	}
	return nil
}

func (d verdict) command(a *App) *cobra.Command {
	f := verdictFlags{}
	id := oneID("approval", "holdfast approval list")
	cmd := &cobra.Command{
		Use: d.use + " ID", Short: d.short,
		Long: d.long + " A worker must run.\n" +
			"There is one decision for each approval: the same again is harmless, another one is refused and says who has decided.\n" +
			"Exit code 3 where the outcome is not known when the wait is over; what was decided counts all the same.\n\n" + approvalLong,
		Args: func(_ *cobra.Command, args []string) error { return id(args) },
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		return s.decideOn(ctx, args[0], d, f)
	})
	flags := cmd.Flags()
	flags.StringVar(&f.reason, "reason", "", "why, in your words; the caller is told")
	if d.action == approval.ActionAccept {
		flags.StringVar(&f.content, "content", "", "JSON object of the values that the tool asks for")
	}
	flags.DurationVar(&f.wait, "wait", decisionWait, "how long to wait for the outcome, at most 5m; 0s: only until the decision counts")
	return cmd
}

func (s *session) decideOn(ctx context.Context, id string, d verdict, f verdictFlags) error {
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
	pause, err := engine.Paused(ctx, who, id)
	if err != nil {
		return explainEngine(err)
	}
	answer := executions.Answer{ID: pause.ID, Action: d.action, Reason: f.reason, Hold: f.wait}
	if f.content != "" {
		answer.Content = json.RawMessage(f.content)
	}
	ask := engine.Resume
	if f.wait == 0 {
		ask = engine.Decide
	}
	report, err := ask(ctx, who, answer)
	if err != nil {
		return explainEngine(err)
	}
	v := s.app.newCallView(who, report)
	v.Approval = pause.ID
	verdict := d.judge(pause.ID, report, f.wait)
	if notTaken(pause.ID, report) && !s.app.JSON() {
		return verdict // the call's own text is for its client
	}
	return s.app.finishCall(v, verdict)
}

// notTaken means that this decision does not count: there was another one before, or it came too late.
func notTaken(id string, report executions.Report) bool {
	p := report.Pause
	return report.Conflict != nil || p != nil && p.ID == id && (p.Expired || p.Dropped)
}

// judge says what the exit code is. A decision is done when the outcome is the one that it leads to.
func (d verdict) judge(id string, report executions.Report, wait time.Duration) error {
	decided := report.Pause
	switch {
	case report.Conflict != nil:
		first := views.DecisionOf(report.Conflict)
		return failedf("it was %s by %s at %s, and that counts; see: holdfast execution get %s",
			pauseState(approval.Pause{Decision: report.Conflict}), first.Who(), clock(first.At), report.Key)
	case decided != nil && decided.ID == id && decided.Expired:
		return failedf("nobody decided in time, and the tool was not called: whoever wants the call has to make it again")
	case decided != nil && decided.ID == id && decided.Dropped && report.Outcome != nil && report.Outcome.Code == approval.CodeRunEnded:
		return failedf("%s; see: holdfast execution get %s", report.Outcome.Message, report.Key)
	case decided != nil && decided.ID == id && decided.Dropped:
		return failedf("the execution ended before anybody decided; see: holdfast execution get %s", report.Key)
	case wait == 0 && report.Status != executions.StatusCompleted:
		return nil // it was not to be waited for
	default:
		return outcomeError(report, d.wanted)
	}
}

func failedf(format string, args ...any) error {
	return &CodeError{Code: ExitError, Cause: fmt.Errorf(format, args...)}
}

func waitsForPerson(pause string) error {
	return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("it waits for a person; read it and decide: holdfast approval show %s", pause)}
}

func goesOn(key string) error {
	return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("it goes on; see: holdfast execution get %s", key)}
}

// outcomeError is nil for the outcome that is wanted.
func outcomeError(report executions.Report, wanted approval.OutcomeKind) error {
	switch {
	case report.Status == executions.StatusPaused && report.Pause != nil:
		return waitsForPerson(report.Pause.ID)
	case report.Status != executions.StatusCompleted || report.Outcome == nil:
		return goesOn(report.Key)
	case report.Outcome.Kind == approval.OutcomeCompleted && report.Outcome.ToolError:
		return failedf("the tool answered with an error")
	case report.Outcome.Kind != wanted:
		return errors.New(string(report.Outcome.Kind))
	default:
		return nil
	}
}
