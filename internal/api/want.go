package api

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// want stores what is wanted of a connection: in the shared config where the connection has that one, else in its own. What was
// removed before is wanted again, unless somebody removes it at this very moment: then the removal holds.
func (a *API) want(ctx context.Context, t target, w wantedConfig, who, reason string) error {
	if err := a.revive(ctx, store.Intent{Workspace: t.key.Workspace, Name: t.key.Name, By: who, Reason: reason}); err != nil {
		return err
	}
	if t.wanted() && t.effective.Shared {
		if _, err := fromStore(ctx, a, func(ctx context.Context) (bool, error) {
			return a.Store.PutAccountDesired(ctx, w.shared(t.effective.Account, t.key.Name))
		}); err != nil {
			return err
		}
		others, err := a.ofAccount(ctx, t.effective.Account, t.key.Name)
		if err != nil {
			return err
		}
		// This connection is asked by itself, and waited for.
		a.fanOut(ctx, without(others, t), func(ctx context.Context, other target) error { return a.ensure(ctx, other, reason) })
		return nil
	}
	_, err := fromStore(ctx, a, func(ctx context.Context) (bool, error) {
		return a.Store.PutDesired(ctx, store.Desired{
			Key: t.key, EngineID: t.workspace.EngineID, Profile: w.profile, Config: w.config, Metadata: w.metadata,
			TokenSource: w.source,
		})
	})
	return err
}

func (w wantedConfig) shared(account, name string) store.AccountDesired {
	return store.AccountDesired{
		Account: account, Name: name, Profile: w.profile, Config: w.config, Metadata: w.metadata, TokenSource: w.source,
	}
}

func without(targets []target, one target) []target {
	var others []target
	for _, t := range targets {
		if t.key != one.key {
			others = append(others, t)
		}
	}
	return others
}

// revive takes a removal back, where there is one. Of any other intent it is none of its business: what somebody has switched
// off stays so, whoever sends a config.
func (a *API) revive(ctx context.Context, intent store.Intent) error {
	there, err := a.intent(ctx, intent.Account, intent.Workspace, intent.Name)
	if err != nil || there == nil || there.Kind != store.IntentRemoved {
		return err
	}
	intent.Kind = store.IntentEnabled
	_, err = fromStore(ctx, a, func(ctx context.Context) (store.Intent, error) {
		return a.Store.PutIntentIf(ctx, intent, there.Revision)
	})
	var stale *store.StaleIntentError
	if errors.As(err, &stale) {
		return fail(CodeIntentChanged).because(err)
	}
	return err
}

// intent is what somebody wants of a name, for an account or a workspace; nil where nobody has said.
func (a *API) intent(ctx context.Context, account, workspace, name string) (*store.Intent, error) {
	rows, err := fromStore(ctx, a, func(ctx context.Context) ([]store.Intent, error) {
		return a.Store.Intents(ctx, store.IntentFilter{Account: account, Workspace: workspace, Name: name})
	})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Account == account && row.Workspace == workspace && row.Name == name {
			return &row, nil
		}
	}
	return nil, nil
}

// decide writes an intent.
func (a *API) decide(ctx context.Context, intent store.Intent) (store.Intent, error) {
	return fromStore(ctx, a, func(ctx context.Context) (store.Intent, error) { return a.Store.PutIntent(ctx, intent) })
}
