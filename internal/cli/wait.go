package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	waitReady   = "ready"
	defaultWait = 30 * time.Second
	// lastLook is how long a wait that is over may take to tell how things stand.
	lastLook = 2 * time.Second
)

// waitFlags say what a command waits for.
type waitFlags struct {
	until   string
	timeout time.Duration
}

func (f *waitFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.until, "wait", "", "wait until the connection is ready: --wait ready")
	flags.DurationVar(&f.timeout, "wait-timeout", defaultWait, "how long to wait; exit code 3 afterwards")
}

func (f waitFlags) check() error {
	if f.until != "" && f.until != waitReady {
		return usagef("--wait takes one value: ready")
	}
	if f.timeout <= 0 {
		return usagef("--wait-timeout must be longer than 0")
	}
	return nil
}

func (f waitFlags) on() bool { return f.until == waitReady }

// ask sends the update that a wait begins with.
type ask func(ctx context.Context) (connection.Health, error)

// waiter waits for one connection.
type waiter struct {
	connections Connections
	key         delivery.Key
	// revision is the only one that counts; nil: whatever is desired.
	revision *string
	timeout  time.Duration
	pause    time.Duration

	asked bool
	last  *connection.Health
	fault error // of the last read
}

// ready asks, and then looks again and again until the connection is ready. A failure that needs a person ends the wait at
// once. The health is the last one known, nil when there was no answer.
func (w *waiter) ready(ctx context.Context, ask ask) (*connection.Health, error) {
	limited, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	tick := time.NewTicker(w.pause)
	defer tick.Stop()
	for {
		done, err := w.step(limited, ask)
		if done || err != nil {
			return w.last, err
		}
		select {
		case <-tick.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return w.last, fmt.Errorf("wait for %s: %w", short(w.key), ctx.Err())
			}
			return w.last, w.late(ctx)
		}
	}
}

func (w *waiter) step(ctx context.Context, ask ask) (done bool, err error) {
	if !w.asked {
		h, err := ask(ctx)
		if err != nil {
			return false, w.note(err)
		}
		w.asked = true
		return w.judge(h)
	}
	s, err := w.connections.Snapshot(ctx, w.key, w.revision)
	if err != nil {
		return false, w.note(err)
	}
	if s.State == delivery.Pending || s.State == delivery.Registering || s.State == delivery.Stale {
		w.fault = nil
		if w.last != nil {
			w.last.Delivery, w.last.WaitingFor = s, s.WaitingFor
		}
		return false, nil
	}
	h, err := w.connections.Health(ctx, w.key)
	if err != nil {
		return false, w.note(err)
	}
	return w.judge(h)
}

// note keeps a fault that may pass and returns any other.
func (w *waiter) note(err error) error {
	if errors.Is(err, connection.ErrBusy) || errors.Is(err, connection.ErrNoWorker) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		w.fault = err
		return nil
	}
	return err
}

func (w *waiter) judge(h connection.Health) (done bool, err error) {
	w.last, w.fault = &h, nil
	if w.revision != nil && deref(h.Delivery.DesiredRevision) != *w.revision {
		return false, nil
	}
	if h.Usable && h.Delivery.State == delivery.Ready {
		return true, nil
	}
	if needsPerson(h) {
		return false, notReady(w.key, h)
	}
	return false, nil
}

// needsPerson reports whether waiting is of no use. A failure that is kept while a repair is due does not count; what is
// wrong with the desired config always does.
func needsPerson(h connection.Health) bool {
	if h.FirstFailure == nil || h.FirstFailure.Retryable {
		return false
	}
	return h.Delivery.State == delivery.Failed || h.Delivery.State == delivery.NotDesired ||
		h.FirstFailure.Stage == health.StageDesiredConfig
}

// late says why the wait is over. An answer that never came is no proof that no worker runs: a cycle may take longer than
// the wait, so a query has the last word.
func (w *waiter) late(ctx context.Context) error {
	if w.last == nil {
		ctx, cancel := context.WithTimeout(ctx, lastLook)
		defer cancel()
		if h, err := w.connections.Health(ctx, w.key); err == nil {
			w.last = &h
		}
	}
	what := fmt.Sprintf("%s is not ready after %s", short(w.key), w.timeout)
	next := "see: holdfast connection get " + short(w.key)
	switch {
	case w.last != nil:
		what += ": " + standing(*w.last)
	case w.fault != nil:
		return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("%s: %w", what, connection.ErrNoWorker)}
	}
	return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("%s; %s", what, next)}
}

// standing says how a connection that is not ready stands.
func standing(h connection.Health) string {
	text := string(h.Delivery.State)
	if h.WaitingFor != "" {
		text += ", waiting for " + string(h.WaitingFor)
	}
	if f := h.Delivery.Failure; f != nil {
		text += ", " + strings.TrimSuffix(f.Error(), ".")
	}
	return text
}

// notReady is the error for a connection that a cycle has not made usable.
func notReady(key delivery.Key, h connection.Health) error {
	f := h.FirstFailure
	if f == nil || (f.Retryable && h.Delivery.Failure == nil) {
		return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("%s is not ready: %s; see: holdfast connection watch %s",
			short(key), standing(h), short(key))}
	}
	again := ""
	if f.Retryable {
		again = " It is tried again."
	}
	return &CodeError{Code: ExitNotReady, Cause: fmt.Errorf("%s is not ready: %s.%s Next: %s",
		short(key), strings.TrimSuffix(f.Error(), "."), again, f.RecommendedAction)}
}
