package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// repairCall is the update of probe or reconcile.
type repairCall func(c Connections, ctx context.Context, key delivery.Key, id string, in connection.Request) (connection.Health, error)

// repair is what probe and reconcile have in common: ask, wait where that is wanted, show, and judge.
type repair struct {
	use, short, long string
	call             repairCall
}

func (r repair) command(a *App) *cobra.Command {
	var (
		target  addressFlags
		wait    waitFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   r.use + " [WORKSPACE/NAME]",
		Short: r.short,
		Long:  r.long + "\n\nExit code 3 when the connection is not ready afterwards.\n\n" + addressLong,
		Args:  oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		for _, check := range []func() error{wait.check, request.check} {
			if err := check(); err != nil {
				return err
			}
		}
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		v, err := s.carryOut(ctx, key, wait, func(ctx context.Context) (connection.Health, error) {
			return r.call(remote.Connections, ctx, key, request.id(), request.request())
		})
		if v == nil {
			return s.explainGone(ctx, key, err)
		}
		return a.finish(*v, err)
	})
	target.bind(cmd)
	wait.bind(cmd)
	request.bind(cmd, "holdfast connection "+r.use)
	return cmd
}

// carryOut asks once, or until the connection is ready. The view is nil when there is nothing to show.
func (s *session) carryOut(ctx context.Context, key delivery.Key, wait waitFlags, ask ask) (*view, error) {
	remote, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	var h *connection.Health
	if wait.on() {
		w := &waiter{connections: remote.Connections, key: key, timeout: wait.timeout, pause: s.app.options.PollEvery}
		h, err = w.ready(ctx, ask)
	} else {
		h, err = once(ctx, key, ask)
	}
	if h == nil && exitCode(err) != ExitNotReady {
		return nil, err
	}
	v := finalView(ctx, remote.Connections, key, h)
	return &v, err
}

// once asks, and judges the answer.
func once(ctx context.Context, key delivery.Key, ask ask) (*connection.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, updateLimit)
	defer cancel()
	h, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	if h.Usable {
		return &h, nil
	}
	return &h, notReady(key, h)
}

// finalView shows the last answer, with what only Temporal knows. What cannot be read any more is left out: the answer
// matters more.
func finalView(ctx context.Context, c Connections, key delivery.Key, h *connection.Health) view {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveTimeout)
	defer cancel()
	v := newView(key)
	if d, err := c.Describe(ctx, key); err == nil {
		v.described(d)
	}
	if h != nil {
		v.answered(*h)
	}
	return v
}

// finish prints the view and passes the verdict on.
func (a *App) finish(v view, verdict error) error {
	if v.Health != nil && v.Health.Earlier != nil {
		a.say("this request was answered before, at %s", clock(&v.Health.Earlier.FinishedAt))
	}
	if a.JSON() {
		if err := a.printJSON(v); err != nil {
			return err
		}
		return verdict
	}
	a.printView(v)
	return verdict
}
