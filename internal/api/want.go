package api

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// want stores what is wanted of a connection: in the shared config where the connection has that one, else in its own. What was
// removed before is wanted again, unless somebody removes it at this very moment: then the removal holds.
func (a *API) want(ctx context.Context, m memory, t target, w wantedConfig, intent store.Intent) error {
	intent.Workspace, intent.Name = t.key.Workspace, t.key.Name
	if t.wanted() && t.effective.Shared {
		if _, err := a.share(ctx, m, w.shared(t.effective.Account, t.key.Name), intent); err != nil {
			return err
		}
		others, err := a.ofAccount(ctx, t.effective.Account, t.key.Name)
		if err != nil {
			return err
		}
		// This connection is asked by itself, and waited for.
		a.fanOut(ctx, without(others, t), func(ctx context.Context, other target) error { return a.ensure(ctx, other, intent.Reason) })
		return nil
	}
	_, err := a.writeWanted(ctx, m, intent, row{
		read: func(ctx context.Context) (time.Time, error) {
			rows, err := a.ownDesired(ctx, store.Filter{Workspace: t.key.Workspace, Name: t.key.Name})
			for _, own := range rows {
				if own.Key == t.key {
					return own.UpdatedAt, err
				}
			}
			return time.Time{}, err
		},
		write: func(ctx context.Context, at time.Time) (bool, error) {
			return a.Store.PutDesired(ctx, store.Desired{
				Key: t.key, EngineID: t.workspace.EngineID, Profile: w.profile, Config: w.config, Metadata: w.metadata,
				TokenSource: w.source, UpdatedAt: at,
			})
		},
	})
	return err
}

// share stores a shared config.
func (a *API) share(ctx context.Context, m memory, want store.AccountDesired, intent store.Intent) (changed bool, err error) {
	return a.writeWanted(ctx, m, intent, row{
		read: func(ctx context.Context) (time.Time, error) {
			stored, err := a.shared(ctx, want.Account, want.Name)
			return stored.UpdatedAt, err
		},
		write: func(ctx context.Context, at time.Time) (bool, error) {
			want.UpdatedAt = at
			return a.Store.PutAccountDesired(ctx, want)
		},
	})
}

// row is where a config is stored.
type row struct {
	read  func(context.Context) (time.Time, error) // when it was written last; zero: never
	write func(ctx context.Context, at time.Time) (changed bool, err error)
}

// wantPlan is what there was before a config was stored, and the time under which it is.
type wantPlan struct {
	Intent     int64
	Before, At time.Time
}

// writeWanted stores a config. A request that is repeated stores it only where nobody else has stored another one since.
func (a *API) writeWanted(ctx context.Context, m memory, intent store.Intent, r row) (changed bool, err error) {
	there, err := a.intent(ctx, intent.Account, intent.Workspace, intent.Name)
	if err != nil {
		return false, err
	}
	now, err := r.read(ctx)
	if err != nil {
		return false, err
	}
	p := wantPlan{Before: now, At: a.now().UTC().Truncate(time.Microsecond)}
	if there != nil {
		p.Intent = there.Revision
	}
	repeated := m.planned(&p)
	if err := a.keepPlan(ctx, m, p); err != nil {
		return false, err
	}
	if repeated && (!now.Equal(p.Before) && !now.Equal(p.At) || there != nil && there.Kind == store.IntentRemoved && there.Revision != p.Intent) {
		return false, fail(CodeIntentChanged)
	}
	if err := a.revive(ctx, there, intent); err != nil || now.Equal(p.At) {
		return true, err
	}
	return fromStore(ctx, a, func(ctx context.Context) (bool, error) { return r.write(ctx, p.At) })
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
func (a *API) revive(ctx context.Context, there *store.Intent, intent store.Intent) error {
	if there == nil || there.Kind != store.IntentRemoved {
		return nil
	}
	intent.Kind = store.IntentEnabled
	_, err := fromStore(ctx, a, func(ctx context.Context) (store.Intent, error) {
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
