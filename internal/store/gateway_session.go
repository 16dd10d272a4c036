package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const tableSession = "mcp_session"

// sessionCell has whose the session is and what it may: whoever has no keys can neither take one over nor raise one.
func sessionCell(s Session) cell {
	return cell{table: tableSession, column: "state", row: []string{
		s.ID, s.Identity.Account, s.Identity.Organisation, string(s.Mode), s.Resource, s.Role, s.Origin,
	}}
}

// PutSession writes a new session, alive whatever the row says. An id that was ever used is [ErrExists].
func (s *Store) PutSession(ctx context.Context, row Session) error {
	if row.ID == "" || !whole(row.Identity) {
		return errors.New("put session: an id, an account and an organisation are needed")
	}
	state, err := s.seal.bytes(row.State, sessionCell(row))
	if err != nil {
		return fmt.Errorf("put session: %w", err)
	}
	result, err := s.exec(ctx, sqlPutSession, row.ID, row.Identity.Account, row.Identity.Organisation, string(row.Mode),
		row.Resource, row.Role, row.Origin, row.Client, row.Protocol, stamp(row.CreatedAt), stamp(row.LastSeenAt), state)
	if err != nil {
		return fmt.Errorf("put session: %w", err)
	}
	if written, err := affected(result); err != nil || !written {
		return fmt.Errorf("put session: %w", errors.Join(err, ErrExists))
	}
	return nil
}

// Session reads a session, a terminated one too, which has no state: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	row, err := s.point.read(ctx, sqlSession, id)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", missing(err))
	}
	found, err := s.scanSession(row)
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	return found, nil
}

// ChangeSessionState changes what was negotiated, in one transaction: others may change something else of it at the same time. A session
// that is not there, or terminated, is [ErrNotFound].
func (s *Store) ChangeSessionState(ctx context.Context, id, protocol string, change func(state []byte) ([]byte, error)) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		row, err := s.scanSession(tx.QueryRowContext(ctx, sqlSession, id))
		if err != nil {
			return err
		}
		if !row.TerminatedAt.IsZero() {
			return ErrNotFound
		}
		state, err := change(row.State)
		if err != nil {
			return err
		}
		sealed, err := s.seal.bytes(state, sessionCell(row))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlPutSessionState, id, protocol, sealed)
		return err
	})
	if err != nil {
		return fmt.Errorf("change state of session: %w", err)
	}
	return nil
}

// TouchSession notes that a session was used. An earlier time than the one that is noted, a session that is not there and one that
// is terminated change nothing.
func (s *Store) TouchSession(ctx context.Context, id string, at time.Time) error {
	if _, err := s.runWrite(ctx, s.run.touchSession, id, stamp(at)); err != nil {
		return fmt.Errorf("note use of session: %w", err)
	}
	return nil
}

// TerminateSession ends a session for good, and forgets its state, streams, events and inbox. It tells whether the session was there
// and alive.
func (s *Store) TerminateSession(ctx context.Context, id string, at time.Time) (done bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlTerminateSession, id, stamp(at))
		if err != nil {
			return err
		}
		if done, err = affected(result); err != nil || !done {
			return err
		}
		return forget(ctx, tx, []any{id}, sqlForgetStreams, sqlForgetMessages, sqlForgetEvents, sqlForgetInbox)
	})
	if err != nil {
		return false, fmt.Errorf("terminate session: %w", err)
	}
	return done, nil
}

// SessionFilter selects sessions; a field that is not set selects all.
type SessionFilter struct {
	Identity     *approval.Identity
	Organisation string
	Alive        bool // only those that are not terminated
	Limit        int  // 0: [DefaultLimit]; at most [MaxLimit]
	Before       Cursor
}

// Sessions reads the sessions that the filter selects, the newest first. Rows that cannot be read do not hide the others: the answer
// has the good ones also when the error joins a *[CorruptRowError] for each bad one.
func (s *Store) Sessions(ctx context.Context, filter SessionFilter) ([]Session, error) {
	text, args := sessionsQuery(filter)
	found, err := list(ctx, s.read, text, args, s.scanSession)
	if err != nil {
		return found, fmt.Errorf("list sessions: %w", err)
	}
	return found, nil
}

func sessionsQuery(filter SessionFilter) (string, []any) {
	query := selectFrom(sqlSessions).of(filter.Identity).is("organisation", filter.Organisation)
	if filter.Alive {
		query.where("terminated_at = 0")
	}
	return query.newest("id", filter.Before, filter.Limit)
}

// alive gives [ErrNotFound] where a session is not there or terminated.
func alive(ctx context.Context, tx *sql.Tx, session string) error {
	var found int
	if err := tx.QueryRowContext(ctx, sqlSessionAlive, session).Scan(&found); err != nil {
		return err
	}
	if found == 0 {
		return ErrNotFound
	}
	return nil
}

// forget runs statements that delete, each with the same arguments.
func forget(ctx context.Context, tx *sql.Tx, args []any, statements ...string) error {
	for _, each := range statements {
		if _, err := tx.ExecContext(ctx, each, args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) scanSession(row scanner) (Session, error) {
	var found Session
	var createdAt, lastSeenAt, terminatedAt int64
	var state []byte
	err := row.Scan(&found.ID, &found.Identity.Account, &found.Identity.Organisation, &found.Mode, &found.Resource, &found.Role,
		&found.Origin, &found.Client, &found.Protocol, &createdAt, &lastSeenAt, &terminatedAt, &state)
	if err != nil {
		return Session{}, missing(err)
	}
	found.CreatedAt, found.LastSeenAt, found.TerminatedAt = fromMicros(createdAt), fromMicros(lastSeenAt), fromMicros(terminatedAt)
	if state == nil && terminatedAt != 0 {
		return found, nil
	}
	found.State, err = s.reveal(state, sessionCell(found), described("id", found.ID))
	if err != nil {
		return Session{}, err
	}
	return found, nil
}

// reveal unseals a cell; what is empty is nil. It gives a *[CorruptRowError] that names the row.
func (s *Store) reveal(sealed []byte, at cell, row string) ([]byte, error) {
	plain, err := s.seal.open(sealed, at)
	if err != nil {
		return nil, &CorruptRowError{Table: at.table, Key: row, Column: at.column, Cause: err}
	}
	if len(plain) == 0 {
		return nil, nil
	}
	return plain, nil
}
