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

	// Holder carries it out; others leave it alone before Until, and take it over afterwards.
	Holder    string
	Until     time.Time
	StartedAt time.Time // of the last try

	FinishedAt time.Time // zero: not finished
	Status     int       // of HTTP; 0: not finished
	Result     []byte    `json:"-"` // sealed at rest
	// Passing says that the result is a failure that passes by itself: the next try replaces it.
	Passing bool

	Plan   []byte  `json:"-"` // what was found before the first change; sealed at rest
	Intent *Intent // the one that was written for it, nil: none; sealed at rest
}

// Done reports whether the request has its result for good.
func (r Request) Done() bool { return !r.FinishedAt.IsZero() && !r.Passing }

// Free reports whether nobody carries the request out, and somebody may.
func (r Request) Free(now time.Time) bool {
	return r.Passing || r.FinishedAt.IsZero() && !now.Before(r.Until)
}

// String leaves the result out.
func (r Request) String() string { return fmt.Sprintf("request %q", r.ID) }

// GoString leaves the result out of %#v.
func (r Request) GoString() string { return r.String() }

const (
	tableRequest = "api_request"
	columnResult = "result"
	columnPlan   = "plan"
	columnIntent = "intent"
)

func requestCell(r Request, column string) cell {
	return cell{table: tableRequest, column: column, row: []string{
		r.ID, r.Principal, r.Kind, r.Connection.Workspace, r.Connection.Name, r.Connection.Directory,
	}}
}

// BeginRequest notes a request, which its holder then carries out. When its principal has sent its key before, nothing is written:
// fresh is false, and existing is the request that was noted then. Otherwise existing is the request itself.
func (s *Store) BeginRequest(ctx context.Context, want Request) (existing Request, fresh bool, err error) {
	if want.ID == "" || want.Principal == "" {
		return Request{}, false, errors.New("begin request: an id and a principal are needed")
	}
	at := stamp(want.CreatedAt)
	want = Request{
		ID: want.ID, Principal: want.Principal, Key: want.Key, Kind: want.Kind, Connection: want.Connection, Digest: want.Digest,
		CreatedAt: fromMicros(at), StartedAt: fromMicros(at), Holder: want.Holder, Until: fromMicros(toMicros(want.Until)),
	}
	digest := want.Digest
	if digest == nil {
		digest = []byte{}
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlBeginRequest, want.ID, want.Principal, nullable(want.Key), want.Kind,
			want.Connection.Workspace, want.Connection.Name, want.Connection.Directory, digest, at, want.Holder, toMicros(want.Until))
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

// Outcome is what became of a request.
type Outcome struct {
	Holder string // who carried it out
	Status int
	Result []byte
	// Passing is a failure that passes by itself. It is noted only for the holder.
	Passing bool
	At      time.Time
}

// FinishRequest notes the result of a request, and gives back the request as it then is: the first result that does not pass
// stays, whoever had it. ErrNotFound when the request was not begun or was pruned.
func (s *Store) FinishRequest(ctx context.Context, id string, o Outcome) (Request, error) {
	var stored Request
	err := s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		stored, err = s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
		if err != nil || stored.Done() || o.Passing && stored.Holder != o.Holder {
			return err
		}
		sealed, err := s.seal.bytes(o.Result, requestCell(stored, columnResult))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, sqlFinishRequest, id, o.Status, sealed, stamp(o.At), o.Passing); err != nil {
			return err
		}
		stored, err = s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
		return err
	})
	if err != nil {
		return Request{}, fmt.Errorf("finish request %q: %w", id, err)
	}
	return stored, nil
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
	result, err := s.exec(ctx, sqlPruneRequests, toMicros(before))
	if err != nil {
		return 0, fmt.Errorf("prune requests: %w", err)
	}
	return result.RowsAffected()
}

func (s *Store) scanRequest(row scanner) (Request, error) {
	var (
		found                                    Request
		key                                      sql.NullString
		result, plan, intent                     []byte
		createdAt, finishedAt, startedAt, heldTo int64
	)
	err := row.Scan(&found.ID, &found.Principal, &key, &found.Kind, &found.Connection.Workspace, &found.Connection.Name,
		&found.Connection.Directory, &found.Digest, &createdAt, &finishedAt, &found.Status, &result,
		&startedAt, &found.Holder, &heldTo, &found.Passing, &plan, &intent)
	if err != nil {
		return Request{}, missing(err)
	}
	found.Key, found.CreatedAt, found.FinishedAt = key.String, fromMicros(createdAt), fromMicros(finishedAt)
	found.StartedAt, found.Until = fromMicros(startedAt), fromMicros(heldTo)
	for _, each := range []struct {
		column string
		sealed []byte
		open   func(at cell) error
	}{
		{columnResult, result, func(at cell) (err error) { found.Result, err = s.seal.open(result, at); return err }},
		{columnPlan, plan, func(at cell) (err error) { found.Plan, err = s.seal.open(plan, at); return err }},
		{columnIntent, intent, func(at cell) error { return s.seal.openJSON(intent, at, &found.Intent) }},
	} {
		if each.sealed == nil {
			continue
		}
		if err := each.open(requestCell(found, each.column)); err != nil {
			return Request{}, &CorruptRowError{Table: tableRequest, Key: fmt.Sprintf("id %q", found.ID), Column: each.column, Cause: err}
		}
	}
	return found, nil
}
