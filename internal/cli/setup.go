package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const setupLimit = 3 * time.Minute

// setupStep is one line of what setup did.
type setupStep struct {
	Subject string `json:"subject"`
	Changed bool   `json:"changed"`
	Message string `json:"message"`
}

func newSetup(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "Prepare keysets, store and Temporal's namespace: once for each installation",
		Long: "Makes what is missing: keysets, store and its tables, the namespace with its retention, search attributes, and the workflows\n" +
			"of what the store wants. Running it again changes nothing, and never lowers a retention.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		ctx, cancel := context.WithTimeout(ctx, setupLimit)
		defer cancel()
		steps, err := s.setup(ctx)
		if printed := a.printSetup(steps); printed != nil {
			return printed
		}
		return err
	})
	return cmd
}

// setup returns what was done also when it fails.
func (s *session) setup(ctx context.Context) (steps []setupStep, err error) {
	note := func(subject string, changed bool, format string, args ...any) {
		steps = append(steps, setupStep{Subject: subject, Changed: changed, Message: fmt.Sprintf(format, args...)})
	}
	made := !keys.Present(s.settings.Keys.Dir)
	if made && exists(s.settings.Store.Path) {
		return steps, fmt.Errorf("%s was written with keysets that are not in %s: restore them from a backup",
			s.settings.Store.Path, s.settings.Keys.Dir)
	}
	keyset, err := s.makeKeys()
	if err != nil {
		return steps, err
	}
	note("keysets", made, "%s in %s", madeOrThere(made), keyset.Dir())
	made = !exists(s.settings.Store.Path)
	st, err := s.store(ctx)
	if err != nil {
		return steps, err
	}
	note("store", made, "%s at %s, tables are current", madeOrThere(made), st.Path())
	remote, err := s.connect(ctx)
	if err != nil {
		return steps, err
	}
	report, err := temporalclient.Setup(ctx, remote.Services, remote.Namespace, s.settings.Temporal.NamespaceRetention)
	steps = append(steps, namespaceSteps(remote.Namespace, report, err == nil)...)
	if err != nil {
		return steps, err
	}
	if err := remote.Fleet.Ensure(ctx); err != nil {
		return steps, err
	}
	// After Temporal has lost its data, all of it is missing.
	started, total, err := s.startMissing(ctx, remote, st)
	if err != nil {
		return steps, fmt.Errorf("start workflows: %w", err)
	}
	if total > 0 {
		note("workflows", started > 0, "%d of %s had none running, started now", started, count(total, "connection"))
	}
	return steps, nil
}

func madeOrThere(made bool) string {
	if made {
		return "made"
	}
	return "there"
}

func namespaceSteps(namespace string, r temporalclient.Report, whole bool) []setupStep {
	var steps []setupStep
	if r.Retention > 0 {
		what := "there"
		switch {
		case r.NamespaceCreated:
			what = "made"
		case r.RetentionRaised:
			what = "retention raised"
		}
		steps = append(steps, setupStep{
			Subject: "namespace", Changed: r.NamespaceCreated || r.RetentionRaised,
			Message: fmt.Sprintf("%s: %s, closed runs are kept %s", namespace, what, age(r.Retention)),
		})
	}
	switch {
	case len(r.Added) > 0:
		steps = append(steps, setupStep{
			Subject: "search attributes", Changed: true, Message: fmt.Sprintf("%d added", len(r.Added)),
		})
	case whole:
		steps = append(steps, setupStep{Subject: "search attributes", Message: "there"})
	}
	if len(r.Strangers) > 0 {
		text := ""
		for _, stranger := range r.Strangers {
			text += " " + stranger.Name
		}
		steps = append(steps, setupStep{Subject: "search attributes", Message: "of others in this namespace:" + text})
	}
	return steps
}

// startMissing starts what is wanted and does not run. It ends nothing: that takes a worker.
func (s *session) startMissing(ctx context.Context, remote *Remote, st *store.Store) (started, total int, err error) {
	result, err := s.reconciler(remote, st).Start(ctx)
	if err == nil && result.Failed > 0 {
		err = failuresOf(result)
	}
	return result.Started, result.Wanted, err
}

// wantedKeys lists what is wanted by engine, also what cannot be unsealed. What has no engine yet is under the empty id.
func wantedKeys(ctx context.Context, st *store.Store) (map[string][]store.Key, error) {
	keys, err := st.Keys(ctx)
	if err != nil {
		return nil, err
	}
	wanted := map[string][]store.Key{}
	for _, key := range keys {
		wanted[key.EngineID] = append(wanted[key.EngineID], key.Key)
	}
	return wanted, nil
}

func (a *App) printSetup(steps []setupStep) error {
	if a.JSON() {
		return a.printJSON(map[string]any{"steps": steps})
	}
	t := a.newTable()
	for _, step := range steps {
		mark := "ok"
		if step.Changed {
			mark = "done"
		}
		t.AppendRow([]any{mark, step.Subject, step.Message})
	}
	t.Render()
	return nil
}
