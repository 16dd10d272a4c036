package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/holdfast-mcp/holdfast/internal/filelock"
)

const (
	readers = 4
	// synchronous FULL makes an acknowledged write survive a power cut, not only a crash of the process.
	synchronous = "FULL"
	// prepareTimeout bounds waiting for other processes that create or migrate the database.
	prepareTimeout = 60 * time.Second
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// prepare makes the file ready for use: private, migrated, proven to belong to the keysets. Processes that start together do it
// one after another. It gives the absolute path.
func prepare(ctx context.Context, options Options) (path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()

	if path, err = filepath.Abs(options.Path); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	lock, err := filelock.Acquire(ctx, path+".lock")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()

	if err := makePrivate(path); err != nil {
		return "", err
	}
	db, err := openPool(path, 1, writePatience, "journal_mode(WAL)", "synchronous("+synchronous+")")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	return path, migrate(ctx, db, path, options.Keys)
}

// makePrivate runs before SQLite sees the file, because SQLite gives its side files the mode of the database.
func makePrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = file.Chmod(0o600)
	}
	return errors.Join(err, file.Close())
}

// openPool opens the file with at most size connections, which wait so long for another process's write; every transaction begins as a writer, so that it never has to be given
// up halfway because another process wrote first.
func openPool(path string, size int, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"_txlock": {"immediate"}}
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()))
	query.Add("_pragma", "foreign_keys(1)")
	for _, pragma := range pragmas {
		query.Add("_pragma", pragma)
	}
	address := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// openFault names the database where the error does not do so by itself.
func openFault(path string, err error) error {
	var (
		keyset *WrongKeysetError
		newer  *NewerSchemaError
	)
	if errors.As(err, &keyset) || errors.As(err, &newer) {
		return err
	}
	return fmt.Errorf("open store %s: %w", path, explain(err))
}

// explain adds what to do where SQLite's own words do not.
func explain(err error) error {
	if code(err)&0xff == sqlitelib.SQLITE_NOTADB {
		return fmt.Errorf("the file is no SQLite database, it is left as it is: name another path or move it away: %w", err)
	}
	return err
}

// code is SQLite's extended result code; 0 when err is none of SQLite's.
func code(err error) int {
	var fault *sqlite.Error
	if errors.As(err, &fault) {
		return fault.Code()
	}
	return 0
}

func isForeignKeyFault(err error) bool {
	return code(err) == sqlitelib.SQLITE_CONSTRAINT_FOREIGNKEY
}
