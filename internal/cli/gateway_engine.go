package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

const (
	// engineClose bounds what a command waits for at its end: the audit is written then.
	engineClose = 10 * time.Second
	// storeReads bounds what a command reads from the store.
	storeReads = 30 * time.Second
)

// operator is who acts by this command line: whoever has its keysets may see and decide what any organisation has asked for.
func (a *App) operator(organisation string) executions.Caller {
	if organisation == "" {
		organisation = auth.DefaultOrganisation
	}
	return executions.Caller{
		Identity: approval.Identity{Account: a.by(), Organisation: organisation}, Principal: a.by(), Name: a.by(), Resource: "default",
		Mode: approval.ModeModel, Client: "holdfast", Via: string(approval.ViaCLI), Operator: true,
	}
}

// engine decides on executions that there are already. It knows no tools: values that are secret by their schema alone are not known
// as such, and whoever runs this has the keysets anyway. It knows the rules where it can read them; the worker asks its own before each
// call.
func (s *session) engine(ctx context.Context) (*executions.Service, error) {
	policy := func(context.Context) executions.Policy { return executions.Policy{} }
	if files, err := s.toolFiles(); err == nil {
		if rules, err := s.rules(files); err == nil {
			policy = toolbox{rules: rules}.policy
		}
	}
	return s.engineWith(ctx, noTools{}, policy)
}

// engineWith also calls tools. Temporal is reached when it is needed first.
func (s *session) engineWith(
	ctx context.Context, tools catalog.Catalog, rules func(context.Context) executions.Policy,
) (*executions.Service, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	made := executions.New(executions.Params{
		Store: st, Audit: st, Workflows: lateRuns{s}, Catalog: tools, Policy: rules, Log: slog.New(slog.DiscardHandler),
		Settings: executions.Settings{
			Window: s.settings.Approvals.Window, Hold: s.settings.Approvals.Hold, Retention: s.settings.Approvals.Retention,
		},
	})
	s.closers = append(s.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineClose)
		defer cancel()
		return made.Close(ctx)
	})
	return made, nil
}

// lateRuns reaches Temporal when a call needs it.
type lateRuns struct{ session *session }

func (l lateRuns) runs(ctx context.Context) (executions.Workflows, error) {
	remote, err := l.session.connect(ctx)
	if err != nil {
		return nil, err
	}
	return remote.Executions, nil
}

// Start implements [executions.Workflows].
func (l lateRuns) Start(ctx context.Context, input execution.Input) error {
	runs, err := l.runs(ctx)
	if err != nil {
		return err
	}
	return runs.Start(ctx, input)
}

// Resume implements [executions.Workflows].
func (l lateRuns) Resume(ctx context.Context, who approval.Identity, in execution.Resume) (execution.Resumed, error) {
	runs, err := l.runs(ctx)
	if err != nil {
		return execution.Resumed{}, err
	}
	return runs.Resume(ctx, who, in)
}

// Cancel implements [executions.Workflows].
func (l lateRuns) Cancel(ctx context.Context, key string, in execution.Cancel) error {
	runs, err := l.runs(ctx)
	if err != nil {
		return err
	}
	return runs.Cancel(ctx, key, in)
}

// Outcome implements [executions.Workflows].
func (l lateRuns) Outcome(ctx context.Context, key string) (*approval.Outcome, error) {
	runs, err := l.runs(ctx)
	if err != nil {
		return nil, err
	}
	return runs.Outcome(ctx, key)
}

// noTools is a catalog of nothing.
type noTools struct{ catalog.Catalog }

func (noTools) Lookup(context.Context, string) (catalog.Tool, error) {
	return catalog.Tool{}, catalog.ErrNoTool
}

// executionOf reads the row that an id means: that of an approval, or of an execution.
func (s *session) executionOf(ctx context.Context, id string) (store.Execution, error) {
	key, _, err := approval.ParseID(id)
	if err != nil {
		return store.Execution{}, usagef("that is neither an approval's id nor an execution's; see: holdfast approval list")
	}
	st, err := s.store(ctx)
	if err != nil {
		return store.Execution{}, err
	}
	row, err := st.Execution(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return row, notFoundf("no execution %s is known, or its outcome is not kept any longer; see: holdfast execution list", key)
	}
	return row, err
}

// explainEngine adds the next step to what executions say.
func explainEngine(err error) error {
	var (
		notFound  *executions.NotFoundError
		unknown   *executions.UnknownToolError
		arguments *executions.ArgumentsError
		down      *executions.UnavailableError
		denied    *executions.DeniedError
		late      *executions.UnansweredError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &notFound):
		return notFoundf("nothing of %s waits, or it is not kept any longer; see: holdfast execution get %s", notFound.ID, notFound.ID)
	case errors.As(err, &unknown):
		return noSuchTool(unknown.Suggestions)
	case errors.As(err, &arguments):
		return usagef("%w", err)
	case errors.Is(err, approval.ErrBadDecision):
		return usagef("%w", err)
	case errors.As(err, &denied):
		return failedf("%w; nothing was done; a call that waits can be declined or cancelled", err)
	case errors.As(err, &late):
		return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("%w; start a worker with holdfast-worker or holdfast dev, then see: holdfast approval show %s", err, late.ID)}
	case errors.As(err, &down) && down.What == "temporal":
		return errors.New("no answer from Temporal, or no worker runs: start one with holdfast-worker or holdfast dev; see: holdfast doctor")
	default:
		return err
	}
}

// noSuchTool names what is like it. The address itself is not quoted: an argument without its flag may stand there.
func noSuchTool(suggestions []string) error {
	if len(suggestions) == 0 {
		return notFoundf("no such tool; see: holdfast tool search")
	}
	return notFoundf("no such tool; did you mean %s?", strings.Join(suggestions, ", "))
}

// oneID takes one id as argument.
func oneID(of, see string) func(args []string) error {
	return func(args []string) error {
		if len(args) != 1 {
			return usagef("give the id of one %s; see: %s", of, see)
		}
		return nil
	}
}
