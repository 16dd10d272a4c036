package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	historyPage = 25
	// historyScan bounds how many rows are looked at for one page of a filter that few of them pass.
	historyScan = 1000
)

// ending is one way in which a pause ends, as the filter of the history names it.
type ending struct{ Value, Title string }

func endings() []ending {
	return []ending{
		{"", "all"},
		{"approved", "approved"},
		{"declined", "declined"},
		{"cancelled", "cancelled"},
		{stateExpired, "expired"},
		{stateDropped, "ended before"},
	}
}

// historyView are pauses that wait no more, the newest first.
type historyView struct {
	Items    []historyItem
	Operator bool
	Query    string // part of the address
	Ending   string
	Endings  []ending
	Newest   string // link to the first page; empty: this is it
	Older    string // link to the next page; empty: there is none
}

type historyItem struct {
	pauseView

	End string // approved, declined, cancelled, expired, dropped
	Ran string // the outcome of the execution, in a word

	cursor store.Cursor
}

func (w *Web) historyPage(rw http.ResponseWriter, v *visit) {
	query := v.URL.Query()
	before, err := store.ParseCursor(query.Get("before"))
	if err != nil {
		w.nothing(rw, v)
		return
	}
	view := historyView{
		Operator: operator(v.session.Principal), Query: strings.TrimSpace(query.Get("q")), Ending: query.Get("ending"), Endings: endings(),
	}
	next, err := w.history(v.Context(), v, &view, before)
	if err != nil {
		w.unavailable(rw, v, err)
		return
	}
	if before != (store.Cursor{}) {
		view.Newest = view.link(store.Cursor{})
	}
	if next != (store.Cursor{}) {
		view.Older = view.link(next)
	}
	w.render(rw, v, page{Name: "history", Title: "History", Body: view})
}

func (v historyView) link(before store.Cursor) string {
	query := url.Values{}
	for name, value := range map[string]string{"q": v.Query, "ending": v.Ending, "before": before.String()} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "/approvals/history?" + query.Encode()
}

// history fills a page, and says where the next one begins; zero: there is none.
func (w *Web) history(ctx context.Context, v *visit, view *historyView, before store.Cursor) (store.Cursor, error) {
	filter, open := scope(v), false
	filter.Open, filter.Before, filter.Limit = &open, before, 4*historyPage
	for scanned := 0; scanned < historyScan; scanned += filter.Limit {
		rows, err := readable(w.Store.Pauses(ctx, filter))
		if err != nil || len(rows) == 0 {
			return store.Cursor{}, err
		}
		for _, row := range rows {
			item := w.historyItem(row, v)
			if !view.shows(item) {
				continue
			}
			if len(view.Items) == historyPage { // there is one more
				return view.Items[historyPage-1].cursor, nil
			}
			view.Items = append(view.Items, item)
		}
		filter.Before = rows[len(rows)-1].Cursor()
	}
	return filter.Before, nil
}

func (w *Web) historyItem(row store.PauseRow, v *visit) historyItem {
	item := historyItem{pauseView: w.view(seen{row: row}, v.session.Principal), Ran: outcomeWord(row.Outcome), cursor: row.Cursor()}
	item.End = item.State
	if item.Decision != nil {
		item.End = item.Decision.Done
	}
	return item
}

func (v historyView) shows(item historyItem) bool {
	return (v.Ending == "" || v.Ending == item.End) && strings.Contains(strings.ToLower(item.Address), strings.ToLower(v.Query))
}

func outcomeWord(kind approval.OutcomeKind) string {
	switch kind {
	case "":
		return "still running"
	case approval.OutcomeCompleted:
		return "ran"
	case approval.OutcomeUnknown:
		return "may have run"
	case approval.OutcomeDeclined, approval.OutcomeExpired:
		return "not run"
	case approval.OutcomeCancelled:
		return "called off"
	default:
		return string(kind)
	}
}
