package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const inboxLimit = 200

// inboxView are the pauses that wait.
type inboxView struct {
	Items    []inboxItem
	Operator bool
	More     bool // there are more than are shown
}

// inboxItem is one of them.
type inboxItem struct {
	pauseView

	Line string // of the call's arguments; empty: it is not known now
}

// Count is how many are shown.
func (v inboxView) Count() int { return len(v.Items) }

func gone(err error) bool {
	var (
		missing *executions.NotFoundError
		others  *executions.ForbiddenError
	)
	return errors.As(err, &missing) || errors.As(err, &others)
}

// scope is whose pauses somebody sees: their own, and an operator those of the organisation.
func scope(v *visit) store.PauseFilter {
	who := v.session.Principal
	if operator(who) {
		return store.PauseFilter{Organisation: who.Identity.Organisation}
	}
	return store.PauseFilter{Identity: &who.Identity}
}

// readable leaves rows aside that cannot be read: they must not hide the others.
func readable(rows []store.PauseRow, err error) ([]store.PauseRow, error) {
	var corrupt *store.CorruptRowError
	if errors.As(err, &corrupt) {
		return rows, nil
	}
	return rows, err
}

// inbox reads the pauses that wait. Before is what was shown before, if anything was.
func (w *Web) inbox(ctx context.Context, v *visit, before inboxView) (inboxView, error) {
	filter, open := scope(v), true
	filter.Open, filter.Limit = &open, inboxLimit
	rows, err := readable(w.Store.Pauses(ctx, filter))
	if err != nil {
		return inboxView{}, err
	}
	view := inboxView{Operator: operator(v.session.Principal), More: len(rows) == inboxLimit}
	for _, row := range rows {
		if one := w.view(seen{row: row}, v.session.Principal); one.State == statePending {
			view.Items = append(view.Items, inboxItem{pauseView: one})
		}
	}
	w.addLines(ctx, view.Items, before.Items)
	return view, nil
}

func (w *Web) inboxPage(rw http.ResponseWriter, v *visit) {
	view, err := w.inbox(v.Context(), v, inboxView{})
	if err != nil {
		w.unavailable(rw, v, err)
		return
	}
	w.render(rw, v, page{Name: "inbox", Title: "Approvals", Body: view})
}

func (w *Web) inboxEvents(rw http.ResponseWriter, v *visit) {
	var (
		change int64 = -1
		last   inboxView
		told   update
	)
	w.follow(rw, v, func(ctx context.Context) (update, error) {
		now, err := w.Store.LastChange(ctx)
		if err != nil || now == change && !w.anyOver(last) {
			return told, err
		}
		if last, err = w.inbox(ctx, v, last); err != nil {
			return update{}, err
		}
		html, err := w.part("inbox", "list", last)
		if err != nil {
			return update{}, err
		}
		change, told = now, update{State: "inbox", HTML: html, Count: last.Count()}
		return told, nil
	})
}

// anyOver reports whether the time of one of those shown is over.
func (w *Web) anyOver(v inboxView) bool {
	now := w.Now()
	for _, item := range v.Items {
		if !now.Before(item.Deadline) {
			return true
		}
	}
	return false
}

func (w *Web) home(rw http.ResponseWriter, v *visit) {
	count, err := w.Engine.PausedCount(v.Context(), v.caller(w))
	if err != nil {
		w.unavailable(rw, v, err)
		return
	}
	w.render(rw, v, page{Name: "home", Title: "Holdfast", Body: struct {
		Count    int
		Endpoint string
	}{count, w.Settings.Names.Base(v.Request) + "/mcp"}})
}
