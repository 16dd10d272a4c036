package api

import (
	"context"
	"errors"
	"strings"
	"time"

	activity "github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// update is one of the updates of a connection's workflow.
type update func(ctx context.Context, key delivery.Key, requestID string, in connection.Request) error

// once shares one update of a connection, kind and revision among all who want it now, whatever else they want to know.
func once[T any](a *API, name string, send func() (T, error)) (T, error) {
	flight := a.updates.DoChan(name, func() (any, error) { return send() })
	a.sharing.Add(1)
	defer a.sharing.Add(-1)
	got := <-flight // what is sent has its own end
	answer, _ := got.Val.(T)
	return answer, got.Err
}

// Sharing counts the callers who wait for an update, their own or another's.
func (a *API) Sharing() int { return int(a.sharing.Load()) }

// only makes a sender of what has no answer but that it was done.
func only(send func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, send() }
}

// ask sends an update, and starts the connection's workflow where none runs.
func (a *API) ask(ctx context.Context, t target, updateID, trigger string, send update) error {
	if err := a.awake(ctx, t); err != nil {
		return err
	}
	do := func(ctx context.Context) (struct{}, error) {
		return struct{}{}, send(ctx, t.key, updateID, connection.Request{Trigger: trigger})
	}
	_, err := fromTemporal(ctx, a, do)
	if !errors.Is(err, connection.ErrNotFound) {
		return err
	}
	if err := a.ensure(ctx, t, trigger); err != nil {
		return err
	}
	_, err = fromTemporal(ctx, a, do)
	return err
}

// ensure starts the workflows of a connection and of its engine where they do not run, and tells that something else is wanted.
func (a *API) ensure(ctx context.Context, t target, trigger string) error {
	return signal(ctx, a, func(ctx context.Context) error {
		err := a.Connections.Ensure(ctx, t.key, t.workspace.EngineID, connection.DesiredChanged{Trigger: trigger})
		if err != nil || t.workspace.EngineID == "" {
			return err
		}
		return a.Engines.Ensure(ctx, t.workspace.EngineID)
	})
}

// awake says early that no worker serves this connection: an update would wait for one for a minute.
func (a *API) awake(ctx context.Context, t target) error {
	_, err := askWorkflow(ctx, a, func(ctx context.Context) (connection.Snapshot, error) {
		return a.Connections.Snapshot(ctx, t.key, nil)
	})
	if errors.Is(err, connection.ErrNotFound) {
		return nil
	}
	return err
}

// allAwake is [API.awake] for connections whose workflows have something to end.
func (a *API) allAwake(ctx context.Context, targets []target) error {
	return a.untilOneFails(ctx, targets, func(ctx context.Context, t target) error {
		d, err := query(ctx, a, func(ctx context.Context) (connection.Description, error) { return a.Connections.Describe(ctx, t.key) })
		switch {
		case missing(err), err == nil && !d.Running:
			return nil
		case err != nil:
			return err
		default:
			return a.awake(ctx, t)
		}
	})
}

// revision is what is wanted now; empty: nothing, or it cannot be read, and the workflow will say why.
func (a *API) revision(ctx context.Context, key delivery.Key) (string, error) {
	resolved, err := fromStore(ctx, a, func(ctx context.Context) (activity.Resolved, error) {
		got, err := a.Resolver.Resolve(ctx, key)
		if errors.Is(err, activity.ErrNothingWanted) {
			err = nil
		}
		return got, err
	})
	if unreadable(err) {
		err = nil
	}
	return resolved.Revision, err
}

// flightName is equal for requests that may share one answer.
func flightName(kind string, key delivery.Key, more ...string) string {
	return strings.Join(append([]string{kind, key.Workspace, key.Name, key.Directory}, more...), "\x00")
}

// health reads the whole document.
func (a *API) health(ctx context.Context, key delivery.Key, o diagnosis.Options) (diagnosis.Document, error) {
	return fromTemporal(ctx, a, func(ctx context.Context) (diagnosis.Document, error) {
		document, err := a.Diagnosis.Read(ctx, key, o)
		if err != nil && a.stored.look(ctx) != nil {
			err = fail(CodeStoreUnavailable).because(err)
		}
		return document, err
	})
}

// model is the model for which a caller wants to know whether it may use the tools.
type model struct{ Provider, Model string }

func (m model) options(probe bool) diagnosis.Options {
	return diagnosis.Options{Probe: probe, Provider: m.Provider, Model: m.Model}
}

// check wants both or neither.
func (m model) check() error {
	if (m.Provider == "") != (m.Model == "") {
		return failf(CodeInvalidPayload, "Give both provider and model, or neither.")
	}
	return nil
}

// repair makes the job of a probe or a reconcile of what the store holds.
func (a *API) repair(c *call, t target, kind, trigger string, m model) (*job, error) {
	revision, err := a.revision(c.Context(), t.key)
	if err != nil {
		return nil, err
	}
	send := a.probe
	if kind == connection.UpdateReconcile {
		send = a.reconcile
	}
	run := func(ctx context.Context, updateID string) (*reply, error) {
		_, err := once(a, flightName(kind, t.key, revision), only(func() error {
			return a.ask(ctx, t, updateID, trigger, send)
		}))
		if err != nil {
			return nil, err
		}
		// The workflow has just asked the endpoint: asking it again would tell nothing.
		document, err := a.health(ctx, t.key, m.options(false))
		if err != nil {
			return nil, err
		}
		return ok(document)
	}
	return &job{flight: flightName(kind, t.key, revision, m.Provider, m.Model), run: run}, nil
}

func (a *API) probe(ctx context.Context, key delivery.Key, id string, in connection.Request) error {
	_, err := a.Connections.Probe(ctx, key, id, in)
	return err
}

func (a *API) reconcile(ctx context.Context, key delivery.Key, id string, in connection.Request) error {
	_, err := a.Connections.Reconcile(ctx, key, id, in)
	return err
}

// refreshed is the answer of a refresh.
type refreshed struct {
	Refresh connection.Refresh `json:"refresh"`
	Health  diagnosis.Document `json:"health"`
}

const triggerRefresh = "engine-refresh"

// refresh makes the job of a refresh. Of a connection of which nothing is wanted the engine is left alone.
func (a *API) refresh(c *call, t target, trigger string, m model) (*job, error) {
	revision, err := a.revision(c.Context(), t.key)
	if err != nil {
		return nil, err
	}
	if trigger == "" {
		trigger = triggerRefresh
	}
	run := func(ctx context.Context, updateID string) (*reply, error) {
		out := refreshed{Refresh: notPerformed(trigger, a.now())}
		if t.wanted() {
			var err error
			out.Refresh, err = once(a, flightName(connection.UpdateRefresh, t.key, revision), func() (connection.Refresh, error) {
				return a.refreshOnce(ctx, t, updateID, trigger)
			})
			if err != nil {
				return nil, err
			}
		}
		var err error
		if out.Health, err = a.health(ctx, t.key, m.options(!t.wanted())); err != nil {
			return nil, err
		}
		return ok(out)
	}
	return &job{flight: flightName(connection.UpdateRefresh, t.key, revision, m.Provider, m.Model), run: run}, nil
}

func (a *API) refreshOnce(ctx context.Context, t target, updateID, trigger string) (connection.Refresh, error) {
	var out connection.RefreshResult
	err := a.ask(ctx, t, updateID, trigger, func(ctx context.Context, key delivery.Key, id string, in connection.Request) (err error) {
		out, err = a.Connections.Refresh(ctx, key, id, in)
		return err
	})
	return out.Refresh, err
}

func notPerformed(trigger string, now time.Time) connection.Refresh {
	return connection.Refresh{
		Reason: "desired_missing", Trigger: trigger, StartedAt: now, FinishedAt: &now, Steps: []connection.RefreshStep{},
	}
}
