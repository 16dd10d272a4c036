package cli

import (
	"context"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// examineIntents tells what somebody has switched off or taken away: the usual reason for what looks forgotten.
func (s *session) examineIntents(ctx context.Context, found *findings) {
	intents, err := s.opened.Intents(ctx, store.IntentFilter{})
	if err != nil {
		found.fail("intents", storeAction(err), "%v", err)
		return
	}
	for _, intent := range intents {
		if intent.Kind == store.IntentEnabled {
			continue
		}
		next, err := wantAgain(ctx, s.opened, intent)
		if err != nil {
			found.fail("intents", storeAction(err), "%v", err)
			return
		}
		what := "switched off"
		if intent.Kind == store.IntentRemoved {
			what = "removed"
		}
		found.info("intents", next, "%s is %s%s", intent, what, whoAndWhy(intent))
	}
}

// wantAgain is how to lift what was switched off or removed. Where no config is left there is nothing to switch on.
func wantAgain(ctx context.Context, st *store.Store, intent store.Intent) (string, error) {
	const again = "to want it again, apply it again: holdfast connection apply"
	if intent.Account != "" {
		shared, err := isShared(ctx, st, intent.Account, intent.Name)
		if err != nil || !shared {
			return again, err
		}
		return "to want it again: holdfast account enable " + intent.Account + "/" + intent.Name, nil
	}
	keys, err := keysOfWorkspace(ctx, st, intent.Workspace, intent.Name)
	if err != nil || len(keys) == 0 {
		return again, err
	}
	return "to want it again: holdfast connection enable " + intent.Workspace + "/" + intent.Name, nil
}
