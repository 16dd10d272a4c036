package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// changesAtOnce bounds what one look of a stream reads.
const changesAtOnce = 200

// approvalSnapshot is what waited when the stream began.
type approvalSnapshot struct {
	Items []approvalItem `json:"items"`
}

// streamApprovals sends what waits for a person, and then each approval that changes. The id of an event is that of the change: a
// reader who comes back with Last-Event-ID gets the changes since, and no snapshot.
func streamApprovals(a *API, w http.ResponseWriter, c *call) {
	whose, err := c.scope()
	after := int64(-1)
	if err == nil {
		after, err = lastEventID(c)
	}
	if err != nil {
		a.refuse(w, c.Request, asError(err))
		return
	}
	a.stream(c, w, "approvals", func(f feed) source { return &approvalStream{feed: f, whose: whose, after: after} })
}

// approvalStream is one reader's stream of approvals.
type approvalStream struct {
	feed

	whose scope
	// after is the last change that was looked at; -1 before the first.
	after int64
	// snapshot is what waits, until it was sent.
	snapshot *approvalSnapshot
	// pending changed, and were not sent yet.
	pending []store.PauseRow
}

// first reads what there is, while an error can still be an answer of its own.
func (s *approvalStream) first(ctx context.Context) error {
	// The mark is taken first: what changes meanwhile is sent twice rather than never.
	last, err := fromStore(ctx, s.api, s.api.Records.LastChange)
	if err != nil {
		return err
	}
	if s.after >= 0 {
		s.after = min(s.after, last) // one that is yet to come was made up
		return nil
	}
	s.after = last
	open := true
	rows, err := fromStore(ctx, s.api, func(ctx context.Context) ([]store.PauseRow, error) {
		return s.api.Records.Pauses(ctx, store.PauseFilter{
			Identity: s.whose.identity, Organisation: s.whose.organisation, Open: &open, Limit: store.MaxLimit,
		})
	})
	s.snapshot = &approvalSnapshot{Items: approvalItems(rows)}
	return err
}

func (s *approvalStream) poll(ctx context.Context) {
	rows, err := fromStore(ctx, s.api, func(ctx context.Context) ([]store.PauseRow, error) {
		return s.api.Records.PausesSince(ctx, s.after, changesAtOnce)
	})
	if err == nil {
		s.pending = rows
	}
}

func (s *approvalStream) send() bool {
	if s.snapshot != nil {
		if !s.event("snapshot", s.after, s.snapshot) {
			return false
		}
		s.snapshot = nil
	}
	for _, row := range s.pending {
		if s.whose.sees(row.Identity) && !s.event("approval", row.Change, approvalItemOf(row)) {
			return false
		}
		s.after = max(s.after, row.Change)
	}
	s.pending = nil
	return true
}

func (s *approvalStream) event(name string, id int64, what any) bool {
	raw, err := json.Marshal(what)
	return err == nil && s.write(fmt.Sprintf("id: %d\nevent: %s\ndata: %s\n\n", id, name, raw))
}
