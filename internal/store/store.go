package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

// Options say which database to open, and with which keysets.
type Options struct {
	Path string     // of the SQLite file; it and its folder are created when absent
	Keys *keys.Keys // the keysets that the database was, or will be, written with
}

// Store is safe for concurrent use, and beside other processes on the same file. A write waits for another process's write: at
// most 10 s, and at most as long as its context lives, and is not written afterwards. A read never waits.
type Store struct {
	path string
	torn atomic.Bool // the last write failed by the disk, not by who else writes

	read  *sql.DB
	write *sql.DB // one connection: writers of this process queue here instead of contending for the file
	keyed *sql.DB // of the points
	point *points
	run   statements
	seal  sealer
}

// Open creates or migrates the database and checks that the keysets are its own. It gives a *NewerSchemaError or a
// *WrongKeysetError where it must not be used.
func Open(ctx context.Context, options Options) (*Store, error) {
	if options.Path == "" || options.Keys == nil {
		return nil, errors.New("open store: a path and keysets are needed")
	}
	path, err := prepare(ctx, options)
	if err != nil {
		return nil, openFault(options.Path, err)
	}
	store := &Store{path: path, seal: sealer{aead: options.Keys.AEAD()}}
	if err := store.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", path, explain(err)), store.Close())
	}
	return store, nil
}

// Path is the absolute path of the database file.
func (s *Store) Path() string { return s.path }

// Ping reads from the database, and fails where it cannot be read.
func (s *Store) Ping(ctx context.Context) error {
	var rows int
	if err := s.read.QueryRowContext(ctx, `SELECT count(*) FROM keyset_proof`).Scan(&rows); err != nil {
		return fmt.Errorf("read store: %w", err)
	}
	return nil
}

// Close ends all connections. The store cannot be used afterwards.
func (s *Store) Close() error {
	var faults []error
	if s.point != nil {
		faults = append(faults, s.point.close())
	}
	for _, pool := range []*sql.DB{s.keyed, s.read, s.write} {
		if pool != nil {
			faults = append(faults, pool.Close())
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

func (s *Store) connect(ctx context.Context) (err error) {
	if s.read, err = openPool(s.path, readers, writePatience, "query_only(1)"); err != nil {
		return err
	}
	if s.write, err = openPool(s.path, 1, writeStep, "synchronous("+synchronous+")"); err != nil {
		return err
	}
	if s.keyed, err = openPool(s.path, readers, writePatience, "query_only(1)"); err != nil {
		return err
	}
	if s.point, err = openPoints(ctx, s.keyed, readers, sqlSession, sqlAPIToken); err != nil {
		return err
	}
	return s.run.prepare(ctx, s.read, s.write)
}
