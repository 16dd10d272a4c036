package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const tablePause = "execution_pause"

// pauseCell has who may decide, and on what.
func pauseCell(p PauseRow) cell {
	return cell{table: tablePause, column: "pause", row: []string{
		p.ID, p.Key, p.Identity.Account, p.Identity.Organisation, p.Session, p.Address, p.Policy, p.Digest,
	}}
}

// PutPause writes a new pause; one of the same id that is there stays. The execution waits from now on.
func (s *Store) PutPause(ctx context.Context, row PauseRow) error {
	if err := checkPause(row); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error { return s.putPause(ctx, tx, row) })
	if err != nil {
		return fmt.Errorf("put pause %s: %w", row.ID, err)
	}
	return nil
}

// DecidePause writes what has become of a pause: a decision, that nobody decided in time, or that its run ended before. What was
// written first stays. [ErrNotFound] where the pause was not put, or was pruned.
func (s *Store) DecidePause(ctx context.Context, pauseID string, pause approval.Pause) error {
	pause.ID = pauseID
	return s.RecordDecided(ctx, pause, nil)
}

// Pause reads a pause: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Pause(ctx context.Context, pauseID string) (PauseRow, error) {
	found, err := s.scanPause(s.run.pause.QueryRowContext(ctx, pauseID))
	if err != nil {
		return PauseRow{}, fmt.Errorf("read pause %s: %w", pauseID, err)
	}
	return found, nil
}

// PauseFilter selects pauses; a field that is not set selects all.
type PauseFilter struct {
	Identity     *approval.Identity
	Organisation string
	Session      string
	Key          string // of the execution
	Open         *bool  // only those that wait, or only those that do not
	Limit        int    // 0: [DefaultLimit]; at most [MaxLimit]
	Before       Cursor
}

// Pauses reads the pauses that the filter selects, the newest first. Rows that cannot be read do not hide the others: the answer has
// the good ones also when the error joins a *[CorruptRowError] for each bad one.
func (s *Store) Pauses(ctx context.Context, filter PauseFilter) ([]PauseRow, error) {
	text, args := pausesQuery(filter)
	found, err := list(ctx, s.read, text, args, s.scanPause)
	if err != nil {
		return found, fmt.Errorf("list pauses: %w", err)
	}
	return found, nil
}

func pausesQuery(filter PauseFilter) (string, []any) {
	query := selectFrom(sqlPauses).of(filter.Identity).is("organisation", filter.Organisation).is("session", filter.Session).
		is("execution", filter.Key)
	switch {
	case filter.Open == nil:
	case *filter.Open:
		query.where("open = 1")
	default:
		query.where("open = 0")
	}
	return query.newest("id", filter.Before, filter.Limit)
}

// CountOpenPauses counts the pauses of an identity that wait.
func (s *Store) CountOpenPauses(ctx context.Context, who approval.Identity) (count int, err error) {
	if err := s.read.QueryRowContext(ctx, sqlCountOpenPauses, who.Account, who.Organisation).Scan(&count); err != nil {
		return 0, fmt.Errorf("count open pauses: %w", err)
	}
	return count, nil
}

// LastChange is the number of the last change of any pause; 0: there was none. It is cheap: who follows pauses asks for it again and
// again, and reads [Store.PausesSince] when it has risen.
func (s *Store) LastChange(ctx context.Context) (change int64, err error) {
	if err := s.run.lastChange.QueryRowContext(ctx).Scan(&change); err != nil {
		return 0, fmt.Errorf("read last change: %w", err)
	}
	return change, nil
}

// PausesSince reads the pauses that have changed after a change, as they are now and in the order of their changes, at most limit of
// them (0: [DefaultLimit]; at most [MaxLimit]). [PauseRow].Change of the last one is where to go on.
func (s *Store) PausesSince(ctx context.Context, change int64, limit int) ([]PauseRow, error) {
	found, err := list(ctx, s.read, sqlPausesSince, []any{change, limited(limit)}, s.scanPause)
	if err != nil {
		return found, fmt.Errorf("list changed pauses: %w", err)
	}
	return found, nil
}

func checkPause(row PauseRow) error {
	if row.ID == "" || row.Key == "" || !whole(row.Identity) {
		return errors.New("put pause: an id, an execution, an account and an organisation are needed")
	}
	return nil
}

func (s *Store) putPause(ctx context.Context, tx *sql.Tx, row PauseRow) error {
	var there int
	if err := tx.QueryRowContext(ctx, sqlPauseExists, row.ID).Scan(&there); err != nil || there > 0 {
		return err
	}
	change, err := nextChange(ctx, tx)
	if err != nil {
		return err
	}
	row.Pause = kept(row.Pause)
	sealed, err := s.sealPause(row)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlPutPause, row.ID, row.Key, row.Identity.Account, row.Identity.Organisation, nullable(row.Session),
		row.Address, row.Client, row.Policy, row.Digest, toMicros(row.CreatedAt), row.Open(), string(row.Outcome), change, sealed)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlStandExecution, row.Key)
	return err
}

func (s *Store) decidePause(ctx context.Context, tx *sql.Tx, pause approval.Pause) error {
	row, err := s.scanPause(tx.QueryRowContext(ctx, sqlPause, pause.ID))
	if err != nil || !row.Open() {
		return err
	}
	row.Decision, row.Expired, row.Dropped = pause.Decision, pause.Expired, pause.Dropped
	row.Pause = kept(row.Pause)
	change, err := nextChange(ctx, tx)
	if err != nil {
		return err
	}
	sealed, err := s.sealPause(row)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, sqlDecidePause, row.ID, row.Open(), sealed, change); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlStandExecution, row.Key)
	return err
}

// kept is a pause with its times as the store keeps them.
func kept(p approval.Pause) approval.Pause {
	p.CreatedAt, p.Deadline = fromMicros(stamp(p.CreatedAt)), fromMicros(toMicros(p.Deadline))
	if p.Decision != nil {
		decision := *p.Decision
		decision.At = fromMicros(toMicros(decision.At))
		p.Decision = &decision
	}
	return p
}

func nextChange(ctx context.Context, tx *sql.Tx) (change int64, err error) {
	err = tx.QueryRowContext(ctx, sqlCount, "pause").Scan(&change)
	return change, err
}

func (s *Store) sealPause(row PauseRow) ([]byte, error) {
	text, err := json.Marshal(row.Pause)
	if err != nil {
		return nil, errors.New("the pause cannot be written as JSON: its schema or content is none")
	}
	return s.seal.bytes(text, pauseCell(row))
}

func (s *Store) scanPause(row scanner) (PauseRow, error) {
	var found PauseRow
	var session sql.NullString
	var open bool
	var sealed []byte
	err := row.Scan(&found.ID, &found.Key, &found.Identity.Account, &found.Identity.Organisation, &session, &found.Address,
		&found.Client, &found.Policy, &found.Digest, new(int64), &open, &found.Outcome, &found.Change, &sealed)
	if err != nil {
		return PauseRow{}, missing(err)
	}
	found.Session = session.String
	id := found.ID
	if err := s.seal.openJSON(sealed, pauseCell(found), &found.Pause); err != nil {
		return PauseRow{}, &CorruptRowError{Table: tablePause, Key: described("id", id), Column: "pause", Cause: err}
	}
	if found.ID != id || found.Open() != open {
		return PauseRow{}, &CorruptRowError{
			Table: tablePause, Key: described("id", id), Column: "open", Cause: errors.New("is not what the pause says"),
		}
	}
	return found, nil
}
