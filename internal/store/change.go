package store

import (
	"context"
	"database/sql"
)

// change is one row that is written only if it differs from what is there.
type change struct {
	query string // reads the row
	args  []any
	same  func(row scanner) (bool, error)
	write func(tx *sql.Tx) error
}

// putChanged looks without the writers' lock first: applying a large manifest again then writes nothing and waits for nobody.
func (s *Store) putChanged(ctx context.Context, c change) (changed bool, err error) {
	if same, err := c.same(s.read.QueryRowContext(ctx, c.query, c.args...)); same || err != nil {
		return false, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		same, err := c.same(tx.QueryRowContext(ctx, c.query, c.args...))
		if same || err != nil {
			return err
		}
		changed = true
		return c.write(tx)
	})
	return changed && err == nil, err
}

// deleteWithToken deletes a row and forgets what was minted for its credential, from whichever source. The tokens' rows stay with
// their sequences, so that a number never stands for two tokens.
func (s *Store) deleteWithToken(ctx context.Context, credential, query string, args ...any) (existed bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		if existed, err = affected(result); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlForgetToken, credential)
		return err
	})
	return existed && err == nil, err
}
