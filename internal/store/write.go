package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	sqlitelib "modernc.org/sqlite/lib"
)

const (
	// writePatience is how long a write waits for another process's write.
	writePatience = 10 * time.Second
	// writeStep is how long SQLite itself waits: nothing can end its wait, so that it waits in steps, between which a caller may
	// give up.
	writeStep = 100 * time.Millisecond
)

// patiently tries a write until no other process writes.
func (s *Store) patiently(ctx context.Context, try func() error) error {
	began := time.Now()
	for {
		err := try()
		if code(err)&0xff != sqlitelib.SQLITE_BUSY {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if time.Since(began) >= writePatience {
			return err
		}
	}
}

// exec runs one statement that writes.
func (s *Store) exec(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = s.patiently(ctx, func() (err error) {
		result, err = s.write.ExecContext(ctx, query, args...)
		return err
	})
	s.learn(err)
	return result, err
}

// runWrite is exec of a statement that was prepared on the writing connection.
func (s *Store) runWrite(ctx context.Context, statement *sql.Stmt, args ...any) (result sql.Result, err error) {
	err = s.patiently(ctx, func() (err error) {
		result, err = statement.ExecContext(ctx, args...)
		return err
	})
	s.learn(err)
	return result, err
}

// inTransaction runs do while no other writer, of this or another process, can write.
func (s *Store) inTransaction(ctx context.Context, do func(tx *sql.Tx) error) error {
	var tx *sql.Tx
	err := s.patiently(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := do(tx); err != nil {
		s.learn(err)
		return errors.Join(err, tx.Rollback())
	}
	err = tx.Commit()
	s.learn(err)
	if err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

// Writable fails where nothing can be written: another process writes all the time, the file must not be written, or the disk is
// full. It writes only where the last write has failed by the disk, to see whether that is over.
func (s *Store) Writable(ctx context.Context) error {
	if s.torn.Load() {
		if _, err := s.exec(ctx, sqlCountOnly, "check"); err != nil {
			return fmt.Errorf("write to store: %w", err)
		}
		return nil
	}
	if err := s.inTransaction(ctx, func(*sql.Tx) error { return errNothing }); !errors.Is(err, errNothing) {
		return fmt.Errorf("write to store: %w", err)
	}
	return nil
}

// errNothing ends a transaction that was only to begin.
var errNothing = errors.New("nothing is written")

// learn remembers whether the disk takes writes.
func (s *Store) learn(err error) {
	switch {
	case err == nil:
		s.torn.Store(false)
	case isDiskFault(err):
		s.torn.Store(true)
	}
}

// isDiskFault reports whether SQLite could not write for the disk's or the file's sake.
func isDiskFault(err error) bool {
	switch code(err) & 0xff {
	case sqlitelib.SQLITE_FULL, sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_CANTOPEN:
		return true
	default:
		return false
	}
}
