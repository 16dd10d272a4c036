package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
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
}

func newRemove(a *App) *cobra.Command {
	var (
		target  addressFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   "remove [WORKSPACE/NAME]",
		Short: "Disconnect a server, and want it no more",
		Long: "Takes the connection out of what is wanted, disconnects it in the engine and ends its workflow. It does not ask.\n" +
			"Running it again after an error finishes what was left.\n\n" + addressLong,
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
		done, err := s.remove(ctx, key, &request)
		if err != nil {
			return err
		}
		if a.JSON() {
			return a.printJSON(done)
		}
		a.say("%s is removed", short(key))
		a.say("history: holdfast connection history %s --directory %s", short(key), key.Directory)
		return nil
	})
	target.bind(cmd)
	request.bind(cmd, "holdfast connection remove")
	return cmd
}

// remove deletes what is wanted first: whatever happens afterwards, nobody delivers it again.
func (s *session) remove(ctx context.Context, key delivery.Key, request *requestFlags) (removed, error) {
	done := removed{Workspace: key.Workspace, Name: key.Name, Directory: key.Directory, WorkflowID: connection.ID(key)}
	remote, err := s.connect(ctx)
	if err != nil {
		return done, err
	}
	st, err := s.store(ctx)
	if err != nil {
		return done, err
	}
	if done.WasDesired, err = st.DeleteDesired(ctx, key); err != nil {
		return done, err
	}
	limited, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	_, err = remote.Connections.Remove(limited, key, request.id(), request.request())
	switch {
	case err == nil:
		done.Disconnected = true
	case errors.Is(err, connection.ErrNotFound) && done.WasDesired:
		// It was wanted and never started, or its workflow has ended: nothing is left to disconnect.
	case errors.Is(err, connection.ErrNotFound):
		return done, notFoundf("no connection %s; see: holdfast connection list", key)
	default:
		return done, fmt.Errorf("%s is wanted no more, but may still be in the engine: %w; then run the same command again", short(key), err)
	}
	return done, st.DeleteRuntime(ctx, key)
}
