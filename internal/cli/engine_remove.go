package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// engineRemoved is the answer of `engine remove -o json`.
type engineRemoved struct {
	ID string `json:"id"`
	// Workspaces have no engine any more: they had no connections.
	Workspaces []string `json:"workspaces"`
}

func newEngineRemove(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove ID",
		Short: "Forget an engine that no connection uses, with its credentials",
		Long: "Forgets an engine with its credentials. One that connections use stays: they are named, with what to do about them.\n" +
			"A workspace that has no connections keeps its account, and has no engine until it is applied with another one.\n\n" +
			"Connections that moved to another engine are disconnected from this one only while it is known: see that they are ready\n" +
			"on the other one first, with holdfast connection list. The id is in holdfast engine list.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("give the id of one engine; see: holdfast engine list")
			}
			return nil
		},
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		done, err := s.removeEngine(ctx, args[0])
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.printJSON(done)
		}
		for _, place := range done.Workspaces {
			a.say("workspace %s has no engine any more; it had no connections", place)
		}
		a.say("engine %s is forgotten", done.ID)
		return nil
	})
	return cmd
}

func (s *session) removeEngine(ctx context.Context, id string) (engineRemoved, error) {
	done := engineRemoved{ID: id, Workspaces: []string{}}
	st, err := s.store(ctx)
	if err != nil {
		return done, err
	}
	if _, err := st.Engine(ctx, id); errors.Is(err, store.ErrNotFound) {
		// Not quoted: a URL with a password may stand where an id belongs.
		return done, notFoundf("no such engine; see: holdfast engine list")
	} else if err != nil && !isCorrupt(err) {
		return done, err
	}
	keys, err := st.KeysByEngine(ctx, id)
	if err != nil {
		return done, err
	}
	if len(keys) > 0 {
		return done, inUse(id, keys)
	}
	if err := passOn(ctx, st, id); err != nil {
		return done, err
	}
	places, err := st.Workspaces(ctx, store.WorkspaceFilter{EngineID: id})
	if err != nil {
		return done, err
	}
	for _, place := range places {
		place.EngineID = ""
		if _, err := st.PutWorkspace(ctx, place); err != nil {
			return done, err
		}
		done.Workspaces = append(done.Workspaces, place.String())
	}
	if _, err = st.DeleteEngine(ctx, id); errors.Is(err, store.ErrEngineInUse) {
		return done, fmt.Errorf("%w; see: holdfast engine list", err)
	}
	return done, err
}

// inUse names what uses an engine, each connection on a line.
func inUse(id string, keys []delivery.Key) error {
	lines := make([]string, 0, len(keys))
	for _, key := range keys {
		lines = append(lines, fmt.Sprintf("  %s in %s", short(key), key.Directory))
	}
	return fmt.Errorf("engine %s is used by %s; remove %s, or apply the workspace with another engine:\n%s",
		id, count(len(keys), "connection"), pick(len(keys), "it", "them"), strings.Join(lines, "\n"))
}

// passOn gives configs that still name an engine the one that their workspace has by now. One that was removed keeps its config
// for the day on which it is wanted again.
func passOn(ctx context.Context, st *store.Store, id string) error {
	rows, err := st.ListDesired(ctx, store.Filter{EngineID: id})
	if err != nil {
		return err
	}
	for _, row := range rows {
		want, err := st.Effective(ctx, row.Key)
		if err != nil {
			return err
		}
		if row.EngineID = want.EngineID; row.EngineID == id {
			row.EngineID = ""
		}
		if _, err := st.PutDesired(ctx, row); err != nil {
			return err
		}
	}
	return nil
}
