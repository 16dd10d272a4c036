package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// limitFlag bounds a list.
type limitFlag struct{ limit int }

func (f *limitFlag) bind(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.limit, "limit", store.DefaultLimit, "at most so many, up to 1000")
}

func (f *limitFlag) check() error {
	if f.limit < 1 || f.limit > store.MaxLimit {
		return usagef("--limit must be 1 to %d", store.MaxLimit)
	}
	return nil
}

// records reads rows of the store and makes a view of each. Rows that cannot be read are told of and left out.
func records[R, V any](
	ctx context.Context, s *session, read func(context.Context, *store.Store) ([]R, error), view func(R) V,
) ([]V, error) {
	ctx, cancel := context.WithTimeout(ctx, storeReads)
	defer cancel()
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := read(ctx, st)
	if rows, err = readable(s.app, rows, err); err != nil {
		return nil, err
	}
	return viewsOf(rows, view), nil
}

// viewsOf is never nil: a list without rows is [] in JSON.
func viewsOf[R, V any](rows []R, view func(R) V) []V {
	out := make([]V, 0, len(rows))
	for _, row := range rows {
		out = append(out, view(row))
	}
	return out
}

// readable keeps the rows of a list that can be read, and tells of the others.
func readable[T any](a *App, rows []T, err error) ([]T, error) {
	if err != nil && !isCorrupt(err) {
		return nil, err
	}
	if err != nil {
		a.say("holdfast: %v", err)
	}
	return rows, nil
}

// listing is how a list looks to people.
type listing[V any] struct {
	columns []any
	row     func(V) []any
	none    string // what is said of a list without rows
}

// print writes a list: a document, or a table.
func (l listing[V]) print(a *App, views []V) error {
	if a.JSON() {
		return a.printJSON(views)
	}
	if len(views) == 0 {
		a.say("%s", l.none)
		return nil
	}
	t := a.newTable(l.columns...)
	for _, v := range views {
		t.AppendRow(l.row(v))
	}
	t.Render()
	return nil
}
