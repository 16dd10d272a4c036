package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// changesAtOnce bounds what one look of a watch reads.
const changesAtOnce = 200

// watchApprovals prints what waits, and then each approval that changes, for as long as the timeout says; 0: until Ctrl-C.
func (s *session) watchApprovals(ctx context.Context, filter store.PauseFilter, timeout time.Duration) error {
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	w := approvalWatch{app: s.app, store: st, filter: filter}
	if err := w.first(ctx); err != nil {
		return err
	}
	if timeout > 0 {
		// Cancelled rather than given a deadline: a call that the end cuts short must not look like a store that is late.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(timeout, cancel).Stop()
	}
	err = w.run(ctx, min(watchEvery, 2*s.app.options.PollEvery))
	if ctx.Err() != nil {
		return nil // Ctrl-C and --timeout are how a watch ends
	}
	return err
}

// approvalWatch follows the store.
type approvalWatch struct {
	app    *App
	store  *store.Store
	filter store.PauseFilter
	seen   int64 // the last change that was looked at
}

func (w *approvalWatch) run(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := w.look(ctx); err != nil {
			return err
		}
	}
}

// first takes the mark before it reads: what changes meanwhile is told twice rather than never.
func (w *approvalWatch) first(ctx context.Context) error {
	seen, err := w.store.LastChange(ctx)
	if err != nil {
		return err
	}
	w.seen = seen
	rows, err := w.store.Pauses(ctx, w.filter)
	if rows, err = readable(w.app, rows, err); err != nil {
		return err
	}
	slices.Reverse(rows) // the oldest first, as what follows
	return w.print(rows)
}

func (w *approvalWatch) look(ctx context.Context) error {
	last, err := w.store.LastChange(ctx)
	if err != nil || last == w.seen {
		return err
	}
	rows, err := w.store.PausesSince(ctx, w.seen, changesAtOnce)
	if rows, err = readable(w.app, rows, err); err != nil {
		return err
	}
	if len(rows) == 0 {
		w.seen = last // what changed cannot be read
		return nil
	}
	w.seen = rows[len(rows)-1].Change
	return w.print(slices.DeleteFunc(rows, func(row store.PauseRow) bool { return !w.wants(row) }))
}

func (w *approvalWatch) wants(row store.PauseRow) bool {
	return (w.filter.Key == "" || row.Key == w.filter.Key) && (w.filter.Session == "" || row.Session == w.filter.Session) &&
		(w.filter.Organisation == "" || row.Identity.Organisation == w.filter.Organisation)
}

func (w *approvalWatch) print(rows []store.PauseRow) error {
	for _, row := range rows {
		v := newApprovalView(row)
		if err := w.app.printChange(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) printChange(v approvalView) error {
	if a.JSON() {
		return a.printLine(v)
	}
	at, about := v.CreatedAt, "asked by "+orNone(v.Client)
	switch {
	case v.Decision != nil:
		at, about = v.Decision.At, "by "+v.Decision.Who()
		if v.Outcome != "" {
			about += ", " + string(v.Outcome)
		}
	case v.State == "waiting":
		about += ", " + v.left() + " left"
	default:
		at, about = v.Deadline, "nobody decided"
	}
	_, err := fmt.Fprintf(a.options.Stdout, "%s  %s  %s  %s  %s\n", clock(at), v.ID, v.Address, v.State, about)
	return err
}
