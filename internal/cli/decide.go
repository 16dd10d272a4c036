package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// decisionFlags go with what writes an intent.
type decisionFlags struct{ reason string }

func (f *decisionFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, in your words; shown with the intent")
}

// by names who decided.
func (a *App) by() string {
	if name, _ := a.environment().LookupEnv("USER"); name != "" {
		return "cli:" + name
	}
	return "cli"
}

// decide writes an intent, which no repair can undo, and carries it to the connections that it covers.
func (s *session) decide(ctx context.Context, intent store.Intent, keys []delivery.Key, f fanOut) error {
	if _, err := s.connect(ctx); err != nil {
		return err
	}
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	before, err := intentOf(ctx, st, intent)
	if err != nil {
		return err
	}
	intent.By = s.app.by()
	if _, err := st.PutIntent(ctx, intent); err != nil {
		return err
	}
	changed := touched{by: map[delivery.Key]*affected{}}
	for _, key := range keys {
		changed.add(key, before == nil || before.Kind != intent.Kind, false)
	}
	return s.carryThrough(ctx, changed, f)
}
