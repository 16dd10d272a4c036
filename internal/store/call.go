package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

const tableCall = "upstream_call"

func callCell(c Call) cell {
	return cell{table: tableCall, column: columnResult, row: []string{c.Key, strconv.Itoa(c.Number)}}
}

// ClaimCall notes that a call is about to be made, by whom its fence names. claimed is false where the call is done, or was claimed
// with this or a higher fence; a higher fence than the row's takes over, and keeps the idempotency key of the first claim. The call is
// given back as it is in both cases. [ErrSettled] where its execution has an outcome, and it was not claimed before.
func (s *Store) ClaimCall(ctx context.Context, want Call) (found Call, claimed bool, err error) {
	if want.Key == "" || want.Number < 1 || want.Fence < 1 {
		return Call{}, false, errors.New("claim call: an execution, a number and a fence from 1 are needed")
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.StmtContext(ctx, s.run.claimCall).ExecContext(ctx, want.Key, want.Number, want.Fence, want.Idempotency,
			stamp(want.ClaimedAt))
		if err != nil {
			return err
		}
		if claimed, err = affected(result); err != nil {
			return err
		}
		found, err = s.scanCall(tx.QueryRowContext(ctx, sqlCall, want.Key, want.Number))
		if errors.Is(err, ErrNotFound) {
			return ErrSettled
		}
		return err
	})
	if err != nil {
		return Call{}, false, fmt.Errorf("claim %s: %w", want, err)
	}
	return found, claimed, nil
}

// FinishCall writes the result of a call, which may be 64 MiB long. [ErrLeaseLost] where its fence is not the row's any more: the
// result is not written. Repeated under the same fence, the first result stays.
func (s *Store) FinishCall(ctx context.Context, done Call) error {
	sealed, err := s.seal.bytes(done.Result, callCell(done))
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlFinishCall, done.Key, done.Number, done.Fence, stamp(done.DoneAt), done.ToolError, sealed)
		if err != nil {
			return err
		}
		if written, err := affected(result); written || err != nil {
			return err
		}
		row, err := s.scanCall(tx.QueryRowContext(ctx, sqlCall, done.Key, done.Number))
		if errors.Is(err, ErrNotFound) || err == nil && row.Fence != done.Fence {
			return ErrLeaseLost
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	return nil
}

// DropCall takes back the claim of a call that is known not to have been sent, and tells whether it was the fence's and not done.
func (s *Store) DropCall(ctx context.Context, key string, number int, fence int64) (dropped bool, err error) {
	result, err := s.exec(ctx, sqlDropCall, key, number, fence)
	if err != nil {
		return false, fmt.Errorf("drop %s: %w", Call{Key: key, Number: number}, err)
	}
	return affected(result)
}

// Call reads a call with its result: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Call(ctx context.Context, key string, number int) (Call, error) {
	found, err := s.scanCall(s.run.call.QueryRowContext(ctx, key, number))
	if err != nil {
		return Call{}, fmt.Errorf("read %s: %w", Call{Key: key, Number: number}, err)
	}
	return found, nil
}

func (s *Store) scanCall(row scanner) (Call, error) {
	var found Call
	var claimedAt, doneAt int64
	var result []byte
	err := row.Scan(&found.Key, &found.Number, &found.Fence, &found.Idempotency, &claimedAt, &doneAt, &found.ToolError, &result)
	if err != nil {
		return Call{}, missing(err)
	}
	found.ClaimedAt, found.DoneAt = fromMicros(claimedAt), fromMicros(doneAt)
	if result == nil && doneAt == 0 {
		return found, nil
	}
	found.Result, err = s.reveal(result, callCell(found), described("execution", found.Key)+", number "+strconv.Itoa(found.Number))
	if err != nil {
		return Call{}, err
	}
	return found, nil
}
