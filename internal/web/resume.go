package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// resumeView is the page of one pause.
type resumeView struct {
	Pause     pauseView
	Says      string // what the source says of the tool; empty: that is not known
	Arguments string // JSON, in lines
	Guard     string
	Fields    []field
	// Why says why the visitor cannot decide; empty: they can. NoAccept says why they cannot approve.
	Why, NoAccept string
	Reason        string // as it was sent
	Problem       string
	ReadOnly      bool
}

// Deciding holds while there is something to decide on for the visitor.
func (v resumeView) Deciding() bool { return v.Pause.State == statePending && v.Why == "" }

const pathResume = "/resume/"

func (w *Web) resumePage(rw http.ResponseWriter, v *visit) {
	found, err := w.look(v.Context(), v.caller(w), v.PathValue("id"))
	if err != nil {
		w.fault(rw, v, err)
		return
	}
	if id := v.PathValue("id"); found.row.ID != id { // the execution was named, and not what it asks
		http.Redirect(rw, v.Request, pathResume+found.row.ID, http.StatusSeeOther)
		return
	}
	view := w.resumeView(v, found)
	if wanted := approval.Action(v.URL.Query().Get("wanted")); wanted.Valid() && view.Pause.State != statePending {
		if view.Pause.Decision == nil || view.Pause.Decision.Action != string(wanted) {
			view.Pause.Wanted = done(wanted)
		}
	}
	w.showResume(rw, v, http.StatusOK, view)
}

func (w *Web) showResume(rw http.ResponseWriter, v *visit, status int, view resumeView) {
	view.Guard = v.session.Guard
	w.render(rw, v, page{Name: "resume", Status: status, Title: titleOf(view.Pause), Body: view})
}

func titleOf(p pauseView) string {
	if p.State == statePending {
		return "Approve " + text.Visible(p.Address) + "?"
	}
	return text.Visible(p.Address) + ": " + p.State
}

// look reads everything that a pause's page shows.
func (w *Web) look(ctx context.Context, who executions.Caller, id string) (seen, error) {
	row, err := w.paused(ctx, who, id)
	if err != nil {
		return seen{}, err
	}
	report, err := w.Engine.Lookup(ctx, who, row.Key)
	if err != nil {
		return seen{}, err
	}
	return seen{row: row, report: report}, nil
}

// paused reads a pause. An execution that is named is taken for the pause that waits, or for the last one.
func (w *Web) paused(ctx context.Context, who executions.Caller, id string) (store.PauseRow, error) {
	key, number, err := approval.ParseID(id)
	if err != nil {
		return store.PauseRow{}, &executions.NotFoundError{ID: id}
	}
	row, err := w.Engine.Paused(ctx, who, id)
	var missing *executions.NotFoundError
	if number == 0 && errors.As(err, &missing) {
		return w.lastPause(ctx, who, key)
	}
	return row, err
}

func (w *Web) lastPause(ctx context.Context, who executions.Caller, key string) (store.PauseRow, error) {
	if _, err := w.Engine.Lookup(ctx, who, key); err != nil { // whether it may be seen
		return store.PauseRow{}, err
	}
	rows, err := w.Store.Pauses(ctx, store.PauseFilter{Key: key, Limit: 1})
	if len(rows) == 0 {
		return store.PauseRow{}, errors.Join(err, &executions.NotFoundError{ID: key})
	}
	return rows[0], nil
}

// asker is who asked for the call, by name. The page does without it where the audit does not know.
func (w *Web) asker(ctx context.Context, row store.PauseRow) string {
	lines, err := w.Store.AuditLog(ctx, store.AuditFilter{Identity: &row.Identity, Execution: row.Key, Limit: 50})
	if err != nil {
		return ""
	}
	for _, line := range lines {
		if line.Action == "execute" && line.Name != "" {
			return line.Name
		}
	}
	return ""
}

func (w *Web) resumeView(v *visit, found seen) resumeView {
	view := resumeView{
		Pause: w.view(found, v.session.Principal), Says: w.says(found.row.Address), Arguments: pretty(found.report.Arguments), ReadOnly: w.Settings.ReadOnly,
	}
	view.Pause.Asker = w.asker(v.Context(), found.row)
	switch {
	case w.Settings.ReadOnly:
		view.Why = messageReadOnly.Text
	case !mayDecide(v.session.Principal):
		view.Why = messageViewer.Text
	case view.Pause.Kind == approval.KindURL && !view.Pause.Mine:
		view.NoAccept = messageURLOwner.Text
	}
	if view.Pause.Kind == approval.KindForm {
		fields, err := fieldsOf(found.row.Request.Schema)
		if err != nil {
			view.NoAccept = "The tool's form cannot be shown: " + err.Error() + "."
		}
		view.Fields = fields
	}
	return view
}

// fault answers for a page that cannot be made. What is not there and what is somebody else's are the same.
func (w *Web) fault(rw http.ResponseWriter, v *visit, err error) {
	var (
		missing *executions.NotFoundError
		others  *executions.ForbiddenError
		denied  *executions.DeniedError
	)
	if errors.As(err, &denied) {
		w.message(rw, v, http.StatusForbidden, messageRule.because(denied.Rule+"."))
		return
	}
	if errors.As(err, &missing) || errors.As(err, &others) {
		w.nothing(rw, v)
		return
	}
	w.unavailable(rw, v, err)
}

func (w *Web) resumePost(rw http.ResponseWriter, v *visit) {
	found, err := w.look(v.Context(), v.caller(w), v.PathValue("id"))
	if err != nil {
		w.fault(rw, v, err)
		return
	}
	view := w.resumeView(v, found)
	action := approval.Action(v.PostFormValue("action"))
	answer := executions.Answer{ID: found.row.ID, Action: action, Reason: v.PostFormValue("reason")}
	view.Reason = answer.Reason
	switch {
	case w.Settings.ReadOnly:
		w.message(rw, v, http.StatusForbidden, messageReadOnly)
		return
	case view.Why != "":
		w.message(rw, v, http.StatusForbidden, messageViewer)
		return
	case (approval.Decision{Action: action, Reason: answer.Reason}).Check() != nil:
		w.message(rw, v, http.StatusBadRequest, messageBadAnswer)
		return
	case action == approval.ActionAccept && view.Pause.State == statePending && view.NoAccept != "":
		view.Problem = view.NoAccept
		w.showResume(rw, v, http.StatusForbidden, view)
		return
	}
	if action == approval.ActionAccept && view.Pause.Kind == approval.KindForm && view.Pause.State == statePending {
		content, filled, ok := readForm(view.Fields, v.PostForm)
		if !ok {
			view.Fields, view.Problem = filled, "Some values are not as the tool takes them: nothing was sent yet."
			w.showResume(rw, v, http.StatusUnprocessableEntity, view)
			return
		}
		answer.Content = content
	}
	w.decide(rw, v, answer)
}

// decide sends the answer and leads back to the page, which shows what counts: this answer, an earlier one, or that it came too late.
func (w *Web) decide(rw http.ResponseWriter, v *visit, answer executions.Answer) {
	_, err := w.Engine.Decide(v.Context(), v.caller(w), answer)
	var late *executions.UnansweredError
	switch {
	case errors.As(err, &late):
		w.log.WarnContext(v.Context(), "a decision is not answered", "error", late.Err, "pause", answer.ID)
		told := messageUnanswered
		told.Link = pathResume + answer.ID
		w.message(rw, v, http.StatusServiceUnavailable, told)
		return
	case errors.Is(err, approval.ErrBadDecision):
		w.message(rw, v, http.StatusBadRequest, messageBadAnswer)
		return
	case err != nil:
		w.fault(rw, v, err)
		return
	}
	http.Redirect(rw, v.Request, pathResume+answer.ID+"?"+url.Values{"wanted": {string(answer.Action)}}.Encode(), http.StatusSeeOther)
}
