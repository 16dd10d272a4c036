package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Request is one request to the REST API that changes something, so that sending it again gives the first one's result.
type Request struct {
	ID         string // random and public
	Principal  string // who asked
	Key        string // the idempotency key; empty: none was given, so it is like no other
	Kind       string
	Connection Key
	Digest     []byte // of the body
	CreatedAt  time.Time

	FinishedAt time.Time // zero: not finished
	Status     int       // of HTTP; 0: not finished
	Result     []byte    `json:"-"` // sealed at rest
}

// String leaves the result out.
func (r Request) String() string { return fmt.Sprintf("request %q", r.ID) }

// GoString leaves the result out of %#v.
func (r Request) GoString() string { return r.String() }

const tableRequest = "api_request"

func resultCell(r Request) cell {
	return cell{table: tableRequest, column: "result", row: []string{
		r.ID, r.Principal, r.Kind, r.Connection.Workspace, r.Connection.Name, r.Connection.Directory,
	}}
}

// BeginRequest notes a request. When its principal has sent its key before, nothing is written: fresh is false, and existing is
// the request that was noted then. Otherwise existing is the request itself.
func (s *Store) BeginRequest(ctx context.Context, want Request) (existing Request, fresh bool, err error) {
	if want.ID == "" || want.Principal == "" {
		return Request{}, false, errors.New("begin request: an id and a principal are needed")
	}
	at := stamp(want.CreatedAt)
	want.CreatedAt, want.FinishedAt, want.Status, want.Result = fromMicros(at), time.Time{}, 0, nil
	digest := want.Digest
	if digest == nil {
		digest = []byte{}
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlBeginRequest, want.ID, want.Principal, nullable(want.Key), want.Kind,
			want.Connection.Workspace, want.Connection.Name, want.Connection.Directory, digest, at)
		if err != nil {
			return err
		}
		if fresh, err = affected(result); fresh || err != nil {
			return err
		}
		existing, err = s.scanRequest(tx.QueryRowContext(ctx, sqlRequestByKey, want.Principal, want.Key))
		return err
	})
	if err != nil {
		return Request{}, false, fmt.Errorf("begin request %q: %w", want.ID, err)
	}
	if fresh {
		return want, true, nil
	}
	return existing, false, nil
}

// FinishRequest notes the result of a request; the first one stays. ErrNotFound when the request was not begun or was pruned.
func (s *Store) FinishRequest(ctx context.Context, id string, status int, result []byte, at time.Time) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		stored, err := s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
		if err != nil || !stored.FinishedAt.IsZero() {
			return err
		}
		sealed, err := s.seal.bytes(result, resultCell(stored))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlFinishRequest, id, status, sealed, stamp(at))
		return err
	})
	if err != nil {
		return fmt.Errorf("finish request %q: %w", id, err)
	}
	return nil
}

// Request reads a request: ErrNotFound, or a *CorruptRowError.
func (s *Store) Request(ctx context.Context, id string) (Request, error) {
	found, err := s.scanRequest(s.read.QueryRowContext(ctx, sqlRequest, id))
	if err != nil {
		return Request{}, fmt.Errorf("read request %q: %w", id, err)
	}
	return found, nil
}

// PruneRequests forgets the requests that were begun before a time, finished or not, and tells how many.
func (s *Store) PruneRequests(ctx context.Context, before time.Time) (int64, error) {
	result, err := s.write.ExecContext(ctx, sqlPruneRequests, toMicros(before))
	if err != nil {
		return 0, fmt.Errorf("prune requests: %w", err)
	}
	return result.RowsAffected()
}

func (s *Store) scanRequest(row scanner) (Request, error) {
	var found Request
	var key sql.NullString
	var result []byte
	var createdAt, finishedAt int64
	err := row.Scan(&found.ID, &found.Principal, &key, &found.Kind, &found.Connection.Workspace, &found.Connection.Name,
		&found.Connection.Directory, &found.Digest, &createdAt, &finishedAt, &found.Status, &result)
	if err != nil {
		return Request{}, missing(err)
	}
	found.Key, found.CreatedAt, found.FinishedAt = key.String, fromMicros(createdAt), fromMicros(finishedAt)
	if result == nil {
		return found, nil
	}
	at := resultCell(found)
	if found.Result, err = s.seal.open(result, at); err != nil {
		return Request{}, &CorruptRowError{Table: at.table, Key: fmt.Sprintf("id %q", found.ID), Column: at.column, Cause: err}
	}
	return found, nil
}
