package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Ending is how an execution has ended, and what ends with it.
type Ending struct {
	Key     string
	Outcome approval.Outcome
	// Retained is until when the outcome can be read; zero: for ever.
	Retained time.Time
	Dropped  []approval.Pause // the pauses that nobody has decided on
	Events   []ExecutionEvent
	// Unclaimed is the number of a call that the outcome says was not made: where it was claimed, nothing is written, and the error is
	// [ErrClaimed]. 0: none.
	Unclaimed int
}

// SettleExecution notes how an execution has ended; the first outcome stays. [ErrNotFound] where it was not put, or was pruned.
func (s *Store) SettleExecution(ctx context.Context, key string, outcome approval.Outcome, retained time.Time) error {
	return s.RecordOutcome(ctx, Ending{Key: key, Outcome: outcome, Retained: retained})
}

// RecordPaused writes a pause and the event of it, both or none. It may be repeated.
func (s *Store) RecordPaused(ctx context.Context, row PauseRow, event ExecutionEvent) error {
	if err := checkPause(row); err != nil {
		return err
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.putPause(ctx, tx, row); err != nil {
			return err
		}
		return s.putEvents(ctx, tx, []ExecutionEvent{event})
	})
	if err != nil {
		return fmt.Errorf("record pause %s: %w", row.ID, err)
	}
	return nil
}

// RecordDecided writes what has become of a pause and the events of it, all or none. It may be repeated; what was written first about
// the pause stays. [ErrNotFound] where the pause was not put, or was pruned.
func (s *Store) RecordDecided(ctx context.Context, pause approval.Pause, events []ExecutionEvent) error {
	if pause.Open() {
		return fmt.Errorf("record decision on pause %s: it has none", pause.ID)
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.decidePause(ctx, tx, pause); err != nil {
			return err
		}
		return s.putEvents(ctx, tx, events)
	})
	if err != nil {
		return fmt.Errorf("record decision on pause %s: %w", pause.ID, err)
	}
	return nil
}

// RecordOutcome writes how an execution has ended, what became of its open pauses and the events of it, all or none. It may be
// repeated; the first outcome stays. [ErrNotFound] where the execution was not put, or was pruned.
func (s *Store) RecordOutcome(ctx context.Context, end Ending) error {
	if end.Outcome.Kind == "" {
		return fmt.Errorf("record outcome of execution %s: a kind is needed", end.Key)
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if end.Unclaimed > 0 {
			_, err := s.scanCall(tx.QueryRowContext(ctx, sqlCall, end.Key, end.Unclaimed))
			if err == nil {
				return ErrClaimed
			}
			if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		for _, each := range end.Dropped {
			if err := s.decidePause(ctx, tx, each); err != nil {
				return err
			}
		}
		if err := s.settle(ctx, tx, end); err != nil {
			return err
		}
		return s.putEvents(ctx, tx, end.Events)
	})
	if err != nil {
		return fmt.Errorf("record outcome of execution %s: %w", end.Key, err)
	}
	return nil
}

// AppendExecutionEvent writes an event under the number that it has; one that is there stays.
func (s *Store) AppendExecutionEvent(ctx context.Context, event ExecutionEvent) error {
	_, err := s.runWrite(ctx, s.run.putStep, stepArgs(event)...)
	if err != nil {
		return fmt.Errorf("append event %d of execution %s: %w", event.Seq, event.Key, err)
	}
	return nil
}

// ExecutionEvents reads the events of an execution that come after a number, in their order.
func (s *Store) ExecutionEvents(ctx context.Context, key string, after int64) ([]ExecutionEvent, error) {
	found, err := listBy(ctx, s.run.steps, []any{key, after}, scanStep)
	if err != nil {
		return nil, fmt.Errorf("list events of execution %s: %w", key, err)
	}
	return found, nil
}

func (s *Store) settle(ctx context.Context, tx *sql.Tx, end Ending) error {
	row, err := s.scanExecution(tx.QueryRowContext(ctx, sqlExecution, end.Key))
	if err != nil {
		return err
	}
	if row.Outcome == nil {
		end.Outcome.At = fromMicros(stamp(end.Outcome.At))
		sealed, err := s.sealOutcome(row, end.Outcome)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlSettleExecution, end.Key, string(end.Outcome.Kind), toMicros(end.Outcome.At),
			toMicros(end.Retained), sealed)
		if err != nil {
			return err
		}
		row.Outcome = &end.Outcome
	}
	return endPauses(ctx, tx, end.Key, row.Outcome.Kind)
}

// endPauses tells the pauses of an execution how that has ended.
func endPauses(ctx context.Context, tx *sql.Tx, key string, how approval.OutcomeKind) error {
	unfinished, err := list(ctx, tx, sqlUnfinishedPauses, []any{key}, scanText)
	if err != nil {
		return err
	}
	for _, id := range unfinished {
		change, err := nextChange(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, sqlEndPause, id, string(how), change); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) putEvents(ctx context.Context, tx *sql.Tx, events []ExecutionEvent) error {
	statement := tx.StmtContext(ctx, s.run.putStep)
	for _, each := range events {
		if each.Key == "" || each.Seq < 1 {
			return errors.New("an event needs the key of its execution and a number from 1")
		}
		if _, err := statement.ExecContext(ctx, stepArgs(each)...); err != nil {
			return err
		}
	}
	return nil
}

func stepArgs(e ExecutionEvent) []any {
	return []any{e.Key, e.Seq, e.Kind, e.Pause, stamp(e.At)}
}

func scanStep(row scanner) (ExecutionEvent, error) {
	var found ExecutionEvent
	var at int64
	if err := row.Scan(&found.Key, &found.Seq, &found.Kind, &found.Pause, &at); err != nil {
		return ExecutionEvent{}, missing(err)
	}
	found.At = fromMicros(at)
	return found, nil
}
