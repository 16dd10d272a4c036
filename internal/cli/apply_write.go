package cli

import (
	"context"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// apply writes what is wanted, and then tells the workflows. Temporal is reached before anything is written, so that what
// cannot be told is not written either.
func (s *session) apply(ctx context.Context, wanted plan, wait waitFlags, request *requestFlags) error {
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	if _, err := enginesOf(ctx, st, wanted); err != nil {
		return err
	}
	if _, err := s.connect(ctx); err != nil {
		return err
	}
	w := &writer{store: st, say: s.app.say, touched: touched{by: map[delivery.Key]*affected{}}}
	if err := w.write(ctx, wanted); err != nil {
		return err
	}
	carry := fanOut{trigger: "holdfast connection apply", wait: wait, request: request}
	if !wanted.many {
		carry.only = &wanted.connections[0].Key
	}
	return s.carryThrough(ctx, w.touched, carry)
}

// affected is one connection that a change concerns.
type affected struct {
	key     delivery.Key
	changed bool
	// moved says that the revision alone does not show the change: there is another engine, or another account.
	moved bool
}

// touched is what a change concerns, each connection once, in the order in which it was met.
type touched struct {
	list []*affected
	by   map[delivery.Key]*affected
	// left are connections of an account that their workspace has left.
	left []delivery.Key
}

func (t *touched) add(key delivery.Key, changed, moved bool) {
	one := t.by[key]
	if one == nil {
		one = &affected{key: key}
		t.by[key], t.list = one, append(t.list, one)
	}
	one.changed, one.moved = one.changed || changed, one.moved || moved
}

// writer puts a plan into the store.
type writer struct {
	touched

	store *store.Store
	say   func(format string, args ...any)

	moves []move
	// before is what was wanted before the first move.
	before []store.KeyOfEngine
}

// write puts engines, workspaces, shared configs and connections, in this order: each names what is before it.
func (w *writer) write(ctx context.Context, wanted plan) error {
	ids, err := putEngines(ctx, w.store, wanted)
	if err != nil {
		return err
	}
	moved := map[store.Workspace]bool{}
	for _, place := range wanted.workspaces {
		place.EngineID = ids[place.EngineID]
		changed, err := w.workspace(ctx, place)
		if err != nil {
			return err
		}
		at := store.Workspace{ID: place.ID, Directory: place.Directory}
		moved[at] = moved[at] || changed
	}
	for _, want := range wanted.connections {
		want.EngineID = ids[want.EngineID]
		changed, err := w.store.PutDesired(ctx, want)
		if err != nil {
			return err
		}
		revived, err := w.revive(ctx, store.Intent{Workspace: want.Workspace, Name: want.Name})
		if err != nil {
			return err
		}
		w.add(want.Key, changed || revived, moved[store.Workspace{ID: want.Workspace, Directory: want.Directory}])
	}
	for _, want := range wanted.shared {
		if err := w.shared(ctx, want); err != nil {
			return err
		}
	}
	return w.followMoves(ctx)
}

// workspace writes one, and notes the shared connections of one that is new, or that it moves.
func (w *writer) workspace(ctx context.Context, place plannedWorkspace) (changed bool, err error) {
	before, known, err := w.known(ctx, place.Workspace)
	if err != nil {
		return false, err
	}
	to := place.Workspace
	if place.keepAccount && known {
		to.Account = before.Account
	}
	if to.Account == "" {
		to.Account = store.DefaultAccount
	}
	if known {
		if err := w.noteMove(ctx, before, to); err != nil {
			return false, err
		}
	}
	if changed, err = w.store.PutWorkspace(ctx, to); err != nil || !changed || known {
		return changed, err
	}
	names, err := sharedNames(ctx, w.store, to.Account)
	for _, name := range names {
		w.add(delivery.Key{Workspace: to.ID, Name: name, Directory: to.Directory}, true, true)
	}
	return true, err
}

// known is the workspace as the store has it. One that cannot be read is written anew.
func (w *writer) known(ctx context.Context, place store.Workspace) (store.Workspace, bool, error) {
	rows, err := w.store.Workspaces(ctx, store.WorkspaceFilter{ID: place.ID})
	if err != nil && !isCorrupt(err) {
		return store.Workspace{}, false, err
	}
	for _, row := range rows {
		if row.Directory == place.Directory {
			return row, true, nil
		}
	}
	return store.Workspace{}, false, nil
}

// shared writes a shared config and notes the connection of each workspace of its account.
func (w *writer) shared(ctx context.Context, want store.AccountDesired) error {
	changed, err := w.store.PutAccountDesired(ctx, want)
	if err != nil {
		return err
	}
	revived, err := w.revive(ctx, store.Intent{Account: want.Account, Name: want.Name})
	if err != nil {
		return err
	}
	keys, err := keysOfAccount(ctx, w.store, want.Account, want.Name)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		w.say("%s is stored; account %s has no workspaces yet", want.Name, want.Account)
	}
	for _, key := range keys {
		w.add(key, changed || revived, false)
	}
	return nil
}

// revive takes a removal back: applying a config is a new wish. What somebody has switched off stays so.
func (w *writer) revive(ctx context.Context, of store.Intent) (bool, error) {
	intent, err := intentOf(ctx, w.store, of)
	if err != nil || intent == nil || intent.Kind != store.IntentRemoved {
		return false, err
	}
	return w.store.DeleteIntent(ctx, of.Account, of.Workspace, of.Name)
}

func isCorrupt(err error) bool {
	var corrupt *store.CorruptRowError
	return errors.As(err, &corrupt)
}
