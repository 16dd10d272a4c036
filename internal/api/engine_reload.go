package api

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	reloadTimeout = 30 * time.Second
	triggerReload = "engine_reload"
)

// reloaded is the answer of a reload.
type reloaded struct {
	Reloaded    bool      `json:"reloaded"`
	Directory   string    `json:"directory"`
	Engine      string    `json:"engine"`
	Connections []outcome `json:"connections"`
}

// postReload ends the engine's instance of a directory, and distrusts everything that was delivered to it.
func postReload(a *API, c *call) (*job, error) {
	w, err := a.workspace(c, c.path("id"))
	if err != nil {
		return nil, err
	}
	targets, err := a.wantedIn(c.Context(), w)
	if err != nil {
		return nil, err
	}
	if w.EngineID == "" {
		return nil, fail(CodeEngineUnset)
	}
	key := delivery.Key{Workspace: w.ID, Directory: w.Directory}
	return &job{flight: flightName("reload", key), run: func(ctx context.Context, _ string) (*reply, error) {
		if err := a.reloadEngine(ctx, w); err != nil {
			return nil, err
		}
		outcomes := a.fanOut(ctx, targets, func(ctx context.Context, t target) error {
			err := signal(ctx, a, func(ctx context.Context) error { return a.Connections.MarkStale(ctx, t.key, triggerReload) })
			if errors.Is(err, connection.ErrNotFound) {
				return a.ensure(ctx, t, triggerReload)
			}
			return err
		})
		return ok(reloaded{Reloaded: true, Directory: w.Directory, Engine: w.EngineID, Connections: outcomes})
	}}, nil
}

func (a *API) reloadEngine(ctx context.Context, w store.Workspace) error {
	engine, err := fromStore(ctx, a, func(ctx context.Context) (store.Engine, error) { return a.Store.Engine(ctx, w.EngineID) })
	if errors.Is(err, store.ErrNotFound) {
		return fail(CodeEngineUnset)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
	defer cancel()
	return reloadFault(a.Reload(ctx, engine, w.Directory))
}

// reloadFault tells by its code how the engine failed. No connection is marked stale then.
func reloadFault(err error) error {
	if err == nil {
		return nil
	}
	switch httpclient.KindOf(err) {
	case httpclient.KindTimeout:
		return fail(CodeReloadTimeout).because(err)
	case httpclient.KindUnreachable, httpclient.KindCanceled:
		return fail(CodeEngineUnreachable).because(err)
	default:
		return fail(CodeReloadFailed).because(err)
	}
}

// DisposeInstance is the [Reload] of a real engine: a client for this one call.
func DisposeInstance(ctx context.Context, e store.Engine, directory string) error {
	client, err := engineapi.New(engineapi.Options{
		BaseURL: e.BaseURL, Username: e.Username, Password: e.Password, Timeout: reloadTimeout,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	return client.DisposeInstance(ctx, directory)
}
