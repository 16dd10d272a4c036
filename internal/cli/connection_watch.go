package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const watchEvery = 500 * time.Millisecond

// Events of a watch.
const (
	eventState      = "state"      // how the connection stands at the start
	eventTransition = "transition" // it changed
	eventEnded      = "ended"      // its workflow is over
)

// watchLine is one line of `watch -o json`.
type watchLine struct {
	Event     string         `json:"event"`
	Workspace string         `json:"workspace"`
	Name      string         `json:"name"`
	Directory string         `json:"directory"`
	At        time.Time      `json:"at"`
	From      delivery.State `json:"from,omitempty"`
	To        delivery.State `json:"to,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Code      string         `json:"code,omitempty"`
	Sequence  int64          `json:"sequence,omitempty"`
}

func newWatch(a *App) *cobra.Command {
	var (
		target  addressFlags
		timeout time.Duration
	)
	cmd := &cobra.Command{
		Use:   "watch [WORKSPACE/NAME]",
		Short: "Print a line for each change of state",
		Long: "Prints how the connection stands, then a line for each change of state, until Ctrl-C, --timeout, or the connection is\n" +
			"removed. With -o json each line is a document.\n\n" + addressLong,
		Args: oneAddress,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, args []string) error {
		if timeout < 0 {
			return usagef("--timeout must not be negative")
		}
		key, err := s.find(ctx, target, args)
		if err != nil {
			return err
		}
		remote, err := s.connect(ctx)
		if err != nil {
			return err
		}
		if timeout > 0 {
			// Cancelled rather than given a deadline: a call that the end cuts short must not look like a server that is late.
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer time.AfterFunc(timeout, cancel).Stop()
		}
		w := &watcher{app: a, connections: remote.Connections, key: key}
		return s.explainGone(ctx, key, w.run(ctx, min(watchEvery, 2*a.options.PollEvery)))
	})
	target.bind(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "end after this time (default: never)")
	return cmd
}

// watcher reads what a connection publishes, which needs no worker. What it publishes are snapshots; so that no state is
// missed between two of them, each new one makes it read the transitions.
type watcher struct {
	app         *App
	connections Connections
	key         delivery.Key

	met     bool // Temporal knows the connection
	begun   bool // how it stands was printed
	silent  bool // Temporal has not answered last time
	seen    string
	state   delivery.State
	counted int64 // sequence of the last transition that was printed
}

func (w *watcher) run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		ended, err := w.look(ctx)
		if ctx.Err() != nil {
			return nil // Ctrl-C and --timeout are how a watch ends
		}
		if ended || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *watcher) look(ctx context.Context) (ended bool, err error) {
	d, err := w.connections.Describe(ctx, w.key)
	switch {
	case ctx.Err() != nil:
		return true, nil
	case errors.Is(err, connection.ErrNotFound), err != nil && !w.met:
		return true, err
	case err != nil:
		if !w.silent {
			w.app.say("Temporal does not answer, trying on: %v", err)
		}
		w.silent = true
		return false, nil
	case !d.Running && !w.met:
		return true, notFoundf("%s does not run any more", short(w.key))
	}
	if !w.met && d.Snapshot == nil {
		w.app.say("nothing is published yet, waiting; a worker must run: holdfast-worker, or holdfast dev")
	}
	w.met = true
	if w.silent {
		w.app.say("Temporal answers again")
		w.silent = false
	}
	if err := w.report(ctx, d.Snapshot); err != nil {
		return true, err
	}
	if !d.Running {
		return true, w.print(watchLine{Event: eventEnded, At: time.Now(), From: w.state, Reason: "the connection was removed"})
	}
	return false, nil
}

// report prints what a new snapshot stands for.
func (w *watcher) report(ctx context.Context, s *connection.Snapshot) error {
	if s == nil {
		return nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("compare snapshots: %w", err)
	}
	if w.begun && string(raw) == w.seen {
		return nil
	}
	w.seen = string(raw)
	transitions, err := w.transitions(ctx)
	if !w.begun {
		w.begun = true
		return w.first(*s, transitions)
	}
	if err != nil {
		return w.difference(*s)
	}
	for _, t := range transitions {
		if t.Sequence <= w.counted {
			continue
		}
		if err := w.transition(t); err != nil {
			return err
		}
	}
	return nil
}

func (w *watcher) transitions(ctx context.Context) ([]connection.Transition, error) {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	return w.connections.History(ctx, w.key)
}

func (w *watcher) first(s connection.Snapshot, past []connection.Transition) error {
	w.state = s.State
	line := watchLine{Event: eventState, To: s.State, At: time.Now()}
	if s.UpdatedAt != nil {
		line.At = *s.UpdatedAt
	}
	if s.Failure != nil {
		line.Code = string(s.Failure.Code)
	}
	if n := len(past); n > 0 {
		last := past[n-1]
		w.counted, w.state = last.Sequence, last.To
		line.At, line.To, line.Reason, line.Sequence = last.At, last.To, last.Reason, last.Sequence
		line.Code = string(last.Code)
	}
	return w.print(line)
}

func (w *watcher) transition(t connection.Transition) error {
	w.counted, w.state = t.Sequence, t.To
	return w.print(watchLine{
		Event: eventTransition, At: t.At, From: t.From, To: t.To, Reason: t.Reason, Code: string(t.Code), Sequence: t.Sequence,
	})
}

// difference is for when no worker tells the transitions.
func (w *watcher) difference(s connection.Snapshot) error {
	if s.State == w.state {
		return nil
	}
	line := watchLine{Event: eventTransition, At: time.Now(), From: w.state, To: s.State}
	if s.Failure != nil {
		line.Code = string(s.Failure.Code)
	}
	w.state = s.State
	return w.print(line)
}

func (w *watcher) print(line watchLine) error {
	line.Workspace, line.Name, line.Directory = w.key.Workspace, w.key.Name, w.key.Directory
	if w.app.JSON() {
		return w.app.printLine(line)
	}
	text := clock(&line.At) + "  " + short(w.key) + "  "
	switch line.Event {
	case eventTransition:
		text += string(line.From) + " → " + string(line.To)
	case eventEnded:
		text += "ended"
	default:
		text += string(line.To)
	}
	if line.Reason != "" {
		text += "  " + line.Reason
	}
	if line.Code != "" {
		text += "  (" + line.Code + ")"
	}
	_, err := fmt.Fprintln(w.app.options.Stdout, text)
	return err
}
