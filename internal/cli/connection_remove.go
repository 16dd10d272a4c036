package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// removed is the answer of `remove -o json`.
type removed struct {
	Workspace    string `json:"workspace"`
	Name         string `json:"name"`
	Directory    string `json:"directory"`
	WorkflowID   string `json:"workflowId"`
	WasDesired   bool   `json:"wasDesired"`
	Disconnected bool   `json:"disconnected"`
	// Account is whose shared config it was: that stays, and this workspace has it no more.
	Account string `json:"account,omitempty"`
}

func newRemove(a *App) *cobra.Command {
	var (
		target  addressFlags
		decided decisionFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   "remove [WORKSPACE/NAME]",
		Short: "Disconnect a server, and want it no more",
		Long: "Takes the connection out of what is wanted, disconnects it in the engine and ends its workflow. It does not ask.\n" +
			"Running it again after an error finishes what was left.\n\n" +
			"One that its account shares is taken away from this workspace, in all of its directories: holdfast connection enable\n" +
			"brings it back.\n\n" + addressLong,
		Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if err := request.check(); err != nil {
			return err
		}
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		done, err := s.remove(ctx, key, &request, decided.reason)
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.printJSON(done)
		}
		a.say("%s is removed", short(key))
		if done.Account != "" {
			a.say("account %s shares it still; bring it back: holdfast connection enable %s", done.Account, short(key))
		}
		a.say("history: holdfast connection history %s --directory %s", short(key), key.Directory)
		return nil
	})
	target.bind(cmd)
	decided.bind(cmd)
	request.bind(cmd, "holdfast connection remove")
	return cmd
}

// remove takes the wish away first: whatever happens afterwards, nobody delivers it again.
func (s *session) remove(ctx context.Context, key delivery.Key, request *requestFlags, reason string) (removed, error) {
	done := removed{Workspace: key.Workspace, Name: key.Name, Directory: key.Directory, WorkflowID: connection.ID(key)}
	if _, err := s.connect(ctx); err != nil {
		return done, err
	}
	st, err := s.store(ctx)
	if err != nil {
		return done, err
	}
	if done.Account, err = sharedBy(ctx, st, key); err != nil {
		return done, err
	}
	keys := []delivery.Key{key}
	if done.Account != "" {
		if keys, err = keysOfWorkspace(ctx, st, key.Workspace, key.Name); err != nil {
			return done, err
		}
		intent := store.Intent{
			Workspace: key.Workspace, Name: key.Name, Kind: store.IntentRemoved, By: s.app.by(), Reason: reason,
		}
		if _, err := st.PutIntent(ctx, intent); err != nil {
			return done, err
		}
	}
	existed, err := st.DeleteDesired(ctx, key)
	if err != nil {
		return done, err
	}
	done.WasDesired = existed || done.Account != ""
	for _, one := range keys {
		ended, err := s.end(ctx, one, request)
		if err != nil {
			return done, err
		}
		if one == key {
			done.Disconnected = ended
		}
	}
	if !done.WasDesired && !done.Disconnected {
		return done, notFoundf("no connection %s; see: holdfast connection list", key)
	}
	return done, nil
}

// end disconnects what runs of a connection that nobody wants, and ends its workflow.
func (s *session) end(ctx context.Context, key delivery.Key, request *requestFlags) (ended bool, err error) {
	limited, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	_, err = s.remote.Connections.Remove(limited, key, request.id(), request.request())
	if err != nil && !errors.Is(err, connection.ErrNotFound) {
		return false, fmt.Errorf("%s is wanted no more, but may still be in the engine: %w; then run the same command again", short(key), err)
	}
	// Where none is found it was wanted and never started, or its workflow has ended: nothing is left to disconnect.
	return err == nil, s.opened.DeleteRuntime(ctx, key)
}

// sharedBy is the account that shares a connection with the workspace; empty where none does.
func sharedBy(ctx context.Context, st *store.Store, key delivery.Key) (string, error) {
	places, err := st.Workspaces(ctx, store.WorkspaceFilter{ID: key.Workspace})
	if err != nil && !isCorrupt(err) {
		return "", err
	}
	for _, place := range places {
		if place.Directory != key.Directory {
			continue
		}
		shared, err := isShared(ctx, st, place.Account, key.Name)
		if err != nil || !shared {
			return "", err
		}
		return place.Account, nil
	}
	return "", nil
}
