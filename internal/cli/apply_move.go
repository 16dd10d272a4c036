package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// move is a workspace that gets another engine or another account.
type move struct{ from, to store.Workspace }

// noteMove tells of a move, before it is written.
func (w *writer) noteMove(ctx context.Context, from, to store.Workspace) (err error) {
	if from.EngineID == to.EngineID && from.Account == to.Account {
		return nil
	}
	if len(w.moves) == 0 {
		if w.before, err = w.store.Keys(ctx); err != nil {
			return err
		}
	}
	w.moves = append(w.moves, move{from: from, to: to})
	switch from.EngineID {
	case to.EngineID:
	case "":
		w.say("holdfast: workspace %s gets engine %s", to, to.EngineID)
	default:
		w.say("holdfast: workspace %s moves from engine %s to %s", to, from.EngineID, to.EngineID)
	}
	if from.Account != to.Account {
		w.say("holdfast: workspace %s moves from account %s to %s", to, from.Account, to.Account)
	}
	return nil
}

// followMoves notes what the moves change, now that all else is written: all connections of a workspace that has another engine,
// and those that one account shares, but not the other.
func (w *writer) followMoves(ctx context.Context) error {
	if len(w.moves) == 0 {
		return nil
	}
	after, err := w.store.Keys(ctx)
	if err != nil {
		return err
	}
	before, now := byPlace(w.before), byPlace(after)
	for _, m := range w.moves {
		place := store.Workspace{ID: m.to.ID, Directory: m.to.Directory}
		if err := w.followMove(ctx, m, before[place], now[place]); err != nil {
			return err
		}
	}
	return nil
}

// byPlace groups connections by their workspace and directory.
func byPlace(keys []store.KeyOfEngine) map[store.Workspace][]delivery.Key {
	places := map[store.Workspace][]delivery.Key{}
	for _, key := range keys {
		place := store.Workspace{ID: key.Workspace, Directory: key.Directory}
		places[place] = append(places[place], key.Key)
	}
	return places
}

func (w *writer) followMove(ctx context.Context, m move, before, now []delivery.Key) error {
	shared := map[string]bool{}
	for _, account := range []string{m.from.Account, m.to.Account} {
		names, err := sharedNames(ctx, w.store, account)
		if err != nil {
			return err
		}
		for _, name := range names {
			shared[name] = true
		}
	}
	wanted := map[delivery.Key]bool{}
	for _, key := range now {
		wanted[key] = true
		if m.from.EngineID != m.to.EngineID {
			if err := w.takeAlong(ctx, key, m.to.EngineID); err != nil {
				return err
			}
			w.add(key, true, true)
		} else if shared[key.Name] || !slices.Contains(before, key) {
			w.add(key, true, true)
		}
	}
	var names []string
	for _, key := range before {
		if !wanted[key] {
			w.left, names = append(w.left, key), append(names, key.Name)
		}
	}
	if len(names) > 0 {
		w.say("holdfast: withdrawn from workspace %s, where account %s shared them: %s", m.to, m.from.Account, strings.Join(names, ", "))
	}
	return nil
}

// takeAlong gives a connection's own config the engine of its workspace: nothing names the old one any more. One that cannot be
// read stays as it is; the engine of the workspace counts all the same.
func (w *writer) takeAlong(ctx context.Context, key delivery.Key, engineID string) error {
	own, err := w.store.Desired(ctx, key)
	if errors.Is(err, store.ErrNotFound) || isCorrupt(err) {
		return nil
	}
	if err != nil {
		return err
	}
	own.EngineID, own.UpdatedAt = engineID, time.Time{}
	_, err = w.store.PutDesired(ctx, own)
	return err
}
