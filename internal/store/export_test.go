package store

import (
	"context"
	"fmt"
	"testing"
)

// Layers are the rows that make up one connection, for tests of how they are put together.
type Layers struct {
	Key       Key
	Own       *Desired
	Shared    *AccountDesired
	Workspace *Workspace
	OfAccount *Intent
	OfPlace   *Intent
}

// Merge puts layers together.
func Merge(l Layers) (Effective, bool) {
	return merge(layers{key: l.Key, own: l.Own, shared: l.Shared, workspace: l.Workspace, ofAccount: l.OfAccount, ofPlace: l.OfPlace})
}

// LimitPages lets the database grow to so many pages only, as a full disk does; it cannot become smaller than it is.
func (s *Store) LimitPages(ctx context.Context, most int) error {
	var now int
	return s.write.QueryRowContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", most)).Scan(&now)
}

// RowsOf names the tables among those given that have rows of a session.
func (s *Store) RowsOf(t *testing.T, session string, tables ...string) (filled []string) {
	t.Helper()
	for _, table := range tables {
		var count int
		if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE session = $1", session).Scan(&count); err != nil {
			t.Fatal(err)
		}
		if count > 0 {
			filled = append(filled, table)
		}
	}
	return filled
}
