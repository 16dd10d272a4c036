package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

var (
	// errNoStray means that there is nothing to close after all.
	errNoStray = errors.New("the connection is wanted again, or does not run any more")
	// errInUse means that a session uses the client: it is taken away once it is idle.
	errInUse = errors.New("a session uses the client")
)

// close ends the workflow of a connection that nobody wants. The workflow is told first and lets go of its client by itself,
// once no session uses it: ending it at once would break a tool call that is under way.
func (r *Reconciler) close(ctx context.Context, stray Stray) error {
	ctx, cancel := context.WithTimeout(ctx, r.Settle+closeTimeout)
	defer cancel()
	if err := r.unwanted(ctx, stray.Key); err != nil {
		return err
	}
	if err := r.settle(ctx, stray.Key); err != nil {
		return err
	}
	if err := r.unwanted(ctx, stray.Key); err != nil {
		return err
	}
	// One id for one run: sent again after a crash it joins the request that is under way.
	_, err := r.Connections.Remove(ctx, stray.Key, "fleet-"+stray.RunID, connection.Request{Trigger: trigger})
	if errors.Is(err, connection.ErrNotFound) {
		return errNoStray
	}
	if err != nil {
		return err
	}
	return r.Store.DeleteRuntime(ctx, stray.Key)
}

// unwanted reads the row anew. A row that is there and cannot be read is wanted: what it says is for a person to find out.
func (r *Reconciler) unwanted(ctx context.Context, key delivery.Key) error {
	want, err := r.Store.Effective(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && want.Removed:
		return nil
	case err != nil:
		return fmt.Errorf("read what is wanted: %w", err)
	default:
		return errNoStray
	}
}

// settle tells the workflow that it is wanted no more and waits until it has seen it. One that does not answer is ended all the
// same.
func (r *Reconciler) settle(ctx context.Context, key delivery.Key) error {
	limited, cancel := context.WithTimeout(ctx, r.Settle)
	defer cancel()
	tick := time.NewTicker(r.pause)
	defer tick.Stop()
	for told := false; ; told = true {
		settled, err := r.settled(ctx, key)
		if settled || err != nil {
			return err
		}
		if !told {
			if err := r.Connections.Ensure(ctx, key, "", connection.DesiredChanged{Trigger: trigger}); err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			return ctx.Err()
		}
	}
}

func (r *Reconciler) settled(ctx context.Context, key delivery.Key) (bool, error) {
	d, err := r.Connections.Describe(ctx, key)
	switch {
	case errors.Is(err, connection.ErrNotFound), err == nil && !d.Running:
		return false, errNoStray
	case err != nil:
		return false, err
	case d.Snapshot == nil || d.Snapshot.State != delivery.NotDesired:
		return false, nil
	case d.Snapshot.WaitingFor == connection.WaitingEngineIdle:
		return false, errInUse
	default:
		return true, nil
	}
}
