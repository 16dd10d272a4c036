package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(target ...any) error }

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// list reads all rows of a query. Corrupt rows are left out of the answer and joined in the error; any other error ends the list.
func list[T any](ctx context.Context, db querier, query string, args []any, scan func(scanner) (T, error)) (found []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

// listBy is list of a statement that was prepared on the reading pool.
func listBy[T any](ctx context.Context, statement *sql.Stmt, args []any, scan func(scanner) (T, error)) (found []T, err error) {
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) (found []T, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()

	var bad []error
	for rows.Next() {
		each, err := scan(rows)
		var corrupt *CorruptRowError
		switch {
		case err == nil:
			found = append(found, each)
		case errors.As(err, &corrupt):
			bad = append(bad, corrupt)
		default:
			return nil, err
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return found, errors.Join(bad...)
}

// missing turns the driver's "no rows" into ours.
func missing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// replaceable tells whether a row that could not be read may be written over: there is none, or only a damaged one.
func replaceable(err error) bool {
	var corrupt *CorruptRowError
	return errors.Is(err, ErrNotFound) || errors.As(err, &corrupt)
}

func affected(result sql.Result) (bool, error) {
	rows, err := result.RowsAffected()
	return rows > 0, err
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// nullable stores an absent text as NULL.
func nullable(text string) sql.NullString {
	return sql.NullString{String: text, Valid: text != ""}
}
