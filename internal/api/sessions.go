package api

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/views"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// sessionItem is one MCP session of a list.
type sessionItem struct {
	views.Session

	TerminatedAt *time.Time `json:"terminatedAt,omitempty"`
}

func sessionItemOf(row store.Session) sessionItem {
	return sessionItem{Session: views.SessionOf(row), TerminatedAt: views.Moment(row.TerminatedAt)}
}

// sessionList is one page, the latest first.
type sessionList struct {
	Items []sessionItem `json:"items"`
	Next  string        `json:"nextPageToken,omitempty"`
}

// sessionView is one MCP session.
type sessionView struct {
	sessionItem

	// Workflow is what its workflow says; absent where none answers.
	Workflow *session.Snapshot `json:"workflow,omitempty"`
}

// terminated is the answer of an end.
type terminated struct {
	ID         string `json:"id"`
	Terminated bool   `json:"terminated"`
}

func getSessions(a *API, c *call) (*reply, error) {
	l, err := c.listed()
	if err != nil {
		return nil, err
	}
	filter := store.SessionFilter{
		Identity: l.identity, Organisation: l.organisation, Alive: !truthy(c.query.Get("all")), Limit: l.size + 1, Before: l.before,
	}
	rows, next, err := read(c.Context(), a, l.page, func(ctx context.Context) ([]store.Session, error) { return a.Records.Sessions(ctx, filter) })
	if err != nil {
		return nil, err
	}
	list := sessionList{Items: []sessionItem{}, Next: next}
	for _, row := range rows {
		list.Items = append(list.Items, sessionItemOf(row))
	}
	return ok(list)
}

// session reads one session that the caller may see.
func (a *API) session(c *call) (store.Session, error) {
	id := c.path("id")
	row, err := fromStore(c.Context(), a, func(ctx context.Context) (store.Session, error) { return a.Records.Session(ctx, id) })
	if errors.Is(err, store.ErrNotFound) || err == nil && !c.mayReach(row.Identity) {
		return row, fail(CodeSessionNotFound)
	}
	return row, err
}

func getSession(a *API, c *call) (*reply, error) {
	row, err := a.session(c)
	if err != nil {
		return nil, err
	}
	view := sessionView{sessionItem: sessionItemOf(row)}
	// The row is the truth; what the workflow holds of it is shown where it can be had.
	told, err := askWorkflow(c.Context(), a, func(ctx context.Context) (session.Snapshot, error) { return a.Sessions.Snapshot(ctx, row.ID) })
	if err == nil {
		view.Workflow = &told
	}
	return ok(view)
}

// deleteSession ends a session: from then on its id is refused by every replica. The workflow is told afterwards, again by whoever
// repeats the request.
func deleteSession(a *API, c *call) (*reply, error) {
	row, err := a.session(c)
	if err != nil {
		return nil, err
	}
	if err := a.needTemporal(c.Context()); err != nil {
		return nil, err
	}
	done, err := fromStore(c.Context(), a, func(ctx context.Context) (bool, error) { return a.endSession(ctx, c, row) })
	if err != nil {
		return nil, err
	}
	err = signal(c.Context(), a, func(ctx context.Context) error {
		err := a.Sessions.Terminate(ctx, row.ID, session.Terminate{By: c.principal.ID, Reason: "terminated by the API"})
		if errors.Is(err, session.ErrNotFound) {
			return nil // it has ended, or never slept and so has no workflow
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ok(terminated{ID: row.ID, Terminated: done})
}

func (a *API) endSession(ctx context.Context, c *call, row store.Session) (bool, error) {
	now := a.now()
	done, err := a.Records.TerminateSession(ctx, row.ID, now)
	if err != nil || !done {
		return done, err
	}
	return true, a.Records.PutAudit(ctx, store.Audit{
		At: now, Identity: row.Identity, Principal: c.principal.ID, Name: c.principal.Name, Via: string(approval.ViaAPI),
		Action: "session-terminate", Session: row.ID, Outcome: "completed",
	})
}
