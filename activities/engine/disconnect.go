package engine

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/apperr"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
)

// DisconnectServer makes the engine close its client. What is not there is disconnected already; an engine that cannot be
// reached is told in the result, because whoever disconnects goes on all the same.
func (a *Activities) DisconnectServer(ctx context.Context, in DisconnectRequest) (DisconnectResult, error) {
	began := a.now()
	client, err := a.clients.of(ctx, in.EngineID)
	if err != nil {
		return DisconnectResult{}, err
	}
	busy, err := a.disconnect(ctx, client, in)
	if in.Wait && ctx.Err() == nil && (busy || unreachable(err)) {
		return DisconnectResult{}, notWithdrawn(busy, a.settings.PollInterval)
	}
	res := DisconnectResult{OK: err == nil && !busy, Busy: busy, LatencyMillis: a.now().Sub(began).Milliseconds()}
	if err != nil {
		if ctx.Err() != nil {
			return DisconnectResult{}, ctx.Err()
		}
		f := engineFailure(err)
		res.Failure = &f
	}
	return res, nil
}

func (a *Activities) disconnect(
	ctx context.Context, client *engineapi.Client, in DisconnectRequest,
) (busy bool, err error) {
	if in.IfIdle {
		sessions, err := client.Sessions(ctx, in.Key.Directory)
		if err != nil || engineapi.Busy(sessions) {
			return err == nil, err
		}
	}
	err = client.Disconnect(ctx, in.Key.Directory, in.Key.Name)
	if errors.Is(err, engineapi.ErrUnknownServer) {
		return false, nil
	}
	return false, err
}

// notWithdrawn says why the entry is still there, and when to try again.
func notWithdrawn(busy bool, poll time.Duration) error {
	if busy {
		return apperr.NotDue("waiting: a session uses the client", min(poll, degradedProbe))
	}
	return apperr.NotDue("waiting: the engine does not answer", poll)
}
