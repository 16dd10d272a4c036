package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
)

// callFlags are what a call is made of.
type callFlags struct {
	pairs        []string
	whole        string
	autoApprove  bool
	key          string
	organisation string
	wait         time.Duration
	// patient is set where the wait was asked for: it is then for a person's decision too.
	patient bool
}

func (f callFlags) check() error {
	for _, pair := range f.pairs {
		if name, _, found := strings.Cut(pair, "="); !found || name == "" {
			return usagef("--arg must be NAME=VALUE")
		}
	}
	switch {
	case f.whole != "" && !isObject(f.whole):
		return usagef("--json must be a JSON object")
	case len(f.key) > 200:
		return usagef("--idempotency-key must not be longer than 200 bytes")
	default:
		return checkWait(f.wait)
	}
}

func newToolCall(a *App) *cobra.Command {
	f := callFlags{}
	cmd := &cobra.Command{
		Use:   "call ADDRESS",
		Short: "Call a tool, as the rules allow, and print its answer",
		Long: "Calls a tool and prints its answer. A call that the rules gate needs Temporal and a worker. Where it waits for a person this\n" +
			"command names the approval and ends with exit code 3; with --wait it goes on until the person has decided, and prints the\n" +
			"outcome. Exit code 3 also where the outcome is not known when the wait is over: the call goes on by itself, and holdfast\n" +
			"execution get reads its outcome. A call that a rule denies is refused, whatever is asked for.\n\n" +
			"A value of --arg is taken as text where the tool's schema says so, else as JSON where it is JSON.",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("give the address of one tool; see: holdfast tool search")
			case len(args) > 1:
				return usagef("give the address of one tool, and its arguments with --arg NAME=VALUE or --json OBJECT")
			}
			return nil
		},
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		f.patient = cmd.Flags().Changed("wait") && f.wait > 0
		return s.callTool(ctx, args[0], f)
	})
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pairs, "arg", nil, "one argument as NAME=VALUE; may be given again")
	flags.StringVar(&f.whole, "json", "", "all arguments as a JSON object; --arg comes on top")
	flags.BoolVar(&f.autoApprove, "auto-approve", false, "answer every question with yes")
	flags.StringVar(&f.key, "idempotency-key", "", "id of the call: under the same id it is made once (default: each call is another)")
	flags.StringVar(&f.organisation, "organisation", auth.DefaultOrganisation, "whose people are asked")
	flags.DurationVar(&f.wait, "wait", decisionWait, "how long to wait for the outcome, at most 5m; where it is given, for a person's decision too")
	return cmd
}

func (s *session) callTool(ctx context.Context, address string, f callFlags) error {
	tools, err := s.tools()
	if err != nil {
		return err
	}
	tool, err := tools.catalog.Lookup(ctx, address)
	if errors.Is(err, catalog.ErrNoTool) || errors.Is(err, catalog.ErrNotListed) {
		return tools.noTool(address)
	}
	if err != nil {
		return err
	}
	arguments, err := f.arguments(tool.Input)
	if err != nil {
		return err
	}
	engine, err := s.engineWith(ctx, tools.catalog, tools.policy)
	if err != nil {
		return err
	}
	call := executions.Call{
		Address: address, Arguments: arguments, AutoApprove: f.autoApprove, Hold: max(f.wait, time.Millisecond),
	}
	if f.key != "" {
		call.Request = "cli:" + f.key
	}
	who, until := s.app.operator(f.organisation), time.Now().Add(f.wait)
	report, err := engine.Execute(ctx, who, call)
	if err == nil && f.patient {
		report, err = s.untilDecided(ctx, engine, who, report, until)
	}
	if err != nil {
		return explainEngine(err)
	}
	return s.app.finishCall(s.app.newCallView(who, report), outcomeError(report, approval.OutcomeCompleted))
}

// untilDecided waits on while a person is asked, as often as one is, and says each time where to decide.
func (s *session) untilDecided(
	ctx context.Context, engine executions.Engine, who executions.Caller, report executions.Report, until time.Time,
) (executions.Report, error) {
	for asked := ""; report.Status == executions.StatusPaused && report.Pause != nil && report.Pause.ID != asked; {
		left := time.Until(until)
		if left <= 0 {
			break
		}
		asked = report.Pause.ID
		s.app.say("it waits for a person, and this command with it; read it and decide: holdfast approval show %s", asked)
		next, err := engine.Resume(ctx, who, executions.Answer{ID: asked, Hold: left})
		if err != nil {
			return report, err
		}
		report = next
	}
	return report, nil
}

// arguments puts the flags together. What they are is told by the tool's schema as far as that is plain.
func (f callFlags) arguments(schema json.RawMessage) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if f.whole != "" {
		if err := json.Unmarshal([]byte(f.whole), &all); err != nil {
			return nil, usagef("--json must be a JSON object")
		}
	}
	var shape struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(schema, &shape) // a schema that cannot be read says nothing of types
	for _, pair := range f.pairs {
		name, value, _ := strings.Cut(pair, "=")
		raw := json.RawMessage(value)
		if shape.Properties[name].Type == "string" || !json.Valid(raw) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			raw = quoted
		}
		all[name] = raw
	}
	return json.Marshal(all)
}
