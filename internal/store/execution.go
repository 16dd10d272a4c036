package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const tableExecution = "execution"

// The values of [Execution].Status before there is an outcome.
const (
	StatusRunning = "running"
	StatusWaiting = "waiting" // for a person
)

// executionCell has whose the execution is, and where its arguments are sent under which rules.
func executionCell(e Execution, column string) cell {
	return cell{table: tableExecution, column: column, row: []string{
		e.Key, e.Identity.Account, e.Identity.Organisation, e.Session, string(e.Mode), e.Resource, e.Address, e.Digest, e.Policy,
	}}
}

// PutExecution writes an execution before it starts. Where the identity has named its call, and named another one so before, nothing
// is written: fresh is false and existing is the first execution. So it is where the key was put before. Otherwise existing is the
// execution itself. A key that another execution has is [ErrExists].
func (s *Store) PutExecution(ctx context.Context, want Execution) (existing Execution, fresh bool, err error) {
	if want.Key == "" || !whole(want.Identity) || want.Address == "" {
		return Execution{}, false, errors.New("put execution: a key, an account, an organisation and an address are needed")
	}
	want.CreatedAt, want.SettledAt, want.Retained, want.Outcome = fromMicros(stamp(want.CreatedAt)), time.Time{}, time.Time{}, nil
	if want.Status == "" {
		want.Status = StatusRunning
	}
	arguments, err := s.seal.bytes(want.Arguments, executionCell(want, "arguments"))
	if err != nil {
		return Execution{}, false, fmt.Errorf("put execution %s: %w", want.Key, err)
	}
	result, err := s.exec(ctx, sqlPutExecution, want.Key, want.Identity.Account, want.Identity.Organisation, nullable(want.Session),
		string(want.Mode), want.Resource, want.Client, nullable(want.Request), want.Address, want.Digest, want.Policy,
		toMicros(want.CreatedAt), want.Status, arguments)
	if err == nil {
		fresh, err = affected(result)
	}
	if err == nil && !fresh {
		existing, err = s.sameExecution(ctx, want)
	}
	if err != nil {
		return Execution{}, false, fmt.Errorf("put execution %s: %w", want.Key, err)
	}
	if fresh {
		return want, true, nil
	}
	return existing, false, nil
}

// sameExecution is the one that keeps another from being put.
func (s *Store) sameExecution(ctx context.Context, want Execution) (Execution, error) {
	if want.Request != "" {
		who := want.Identity
		found, err := s.scanExecution(s.read.QueryRowContext(ctx, sqlExecutionByRequest, who.Account, who.Organisation, want.Request))
		if !errors.Is(err, ErrNotFound) {
			return found, err
		}
	}
	found, err := s.scanExecution(s.run.execution.QueryRowContext(ctx, want.Key))
	if err != nil {
		return Execution{}, err
	}
	if found.Identity != want.Identity || found.Request != want.Request {
		return Execution{}, ErrExists
	}
	return found, nil
}

// Execution reads an execution: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Execution(ctx context.Context, key string) (Execution, error) {
	found, err := s.scanExecution(s.run.execution.QueryRowContext(ctx, key))
	if err != nil {
		return Execution{}, fmt.Errorf("read execution %s: %w", key, err)
	}
	return found, nil
}

// ExecutionByRequest reads the execution of a call that an identity has named: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) ExecutionByRequest(ctx context.Context, who approval.Identity, request string) (Execution, error) {
	found, err := s.scanExecution(s.read.QueryRowContext(ctx, sqlExecutionByRequest, who.Account, who.Organisation, request))
	if err != nil {
		return Execution{}, fmt.Errorf("read execution of a request: %w", err)
	}
	return found, nil
}

// ExecutionFilter selects executions; a field that is not set selects all.
type ExecutionFilter struct {
	Identity     *approval.Identity
	Organisation string
	Session      string
	Address      string
	Status       []string // any of them
	Limit        int      // 0: [DefaultLimit]; at most [MaxLimit]
	Before       Cursor
}

// Executions reads the executions that the filter selects, the newest first. Rows that cannot be read do not hide the others: the
// answer has the good ones also when the error joins a *[CorruptRowError] for each bad one.
func (s *Store) Executions(ctx context.Context, filter ExecutionFilter) ([]Execution, error) {
	text, args := executionsQuery(filter)
	found, err := list(ctx, s.read, text, args, s.scanExecution)
	if err != nil {
		return found, fmt.Errorf("list executions: %w", err)
	}
	return found, nil
}

func executionsQuery(filter ExecutionFilter) (string, []any) {
	query := selectFrom(sqlExecutions).of(filter.Identity).is("organisation", filter.Organisation).is("session", filter.Session).
		is("address", filter.Address)
	if n := len(filter.Status); n > 0 {
		values := make([]any, n)
		for i, each := range filter.Status {
			values[i] = each
		}
		query.where("status IN (?"+strings.Repeat(", ?", n-1)+")", values...)
	}
	return query.newest("key", filter.Before, filter.Limit)
}

// PruneExecutions forgets the executions whose outcome is retained no longer than now, with their pauses, events and calls, and tells
// how many they were.
func (s *Store) PruneExecutions(ctx context.Context, now time.Time) (pruned int64, err error) {
	for {
		batch, err := s.pruneExecutionsOnce(ctx, now)
		pruned += int64(batch)
		if err != nil {
			return pruned, fmt.Errorf("prune executions: %w", err)
		}
		if batch < pruneBatch {
			return pruned, nil
		}
	}
}

func (s *Store) pruneExecutionsOnce(ctx context.Context, now time.Time) (count int, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		found, err := list(ctx, tx, sqlOverdueExecutions, []any{toMicros(now), pruneBatch}, scanText)
		if err != nil {
			return err
		}
		for _, key := range found {
			if err := forget(ctx, tx, []any{key}, sqlDeleteExecution, sqlDeletePauses, sqlDeleteSteps, sqlDeleteCalls); err != nil {
				return err
			}
		}
		count = len(found)
		return nil
	})
	return count, err
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

func (s *Store) scanExecution(row scanner) (Execution, error) {
	var found Execution
	var session, request sql.NullString
	var createdAt, settledAt, retained int64
	var outcome, arguments []byte
	err := row.Scan(&found.Key, &found.Identity.Account, &found.Identity.Organisation, &session, &found.Mode, &found.Resource,
		&found.Client, &request, &found.Address, &found.Digest, &found.Policy, &createdAt, &found.Status, &settledAt, &retained,
		&outcome, &arguments)
	if err != nil {
		return Execution{}, missing(err)
	}
	found.Session, found.Request = session.String, request.String
	found.CreatedAt, found.SettledAt, found.Retained = fromMicros(createdAt), fromMicros(settledAt), fromMicros(retained)
	name := described("key", found.Key)
	if found.Arguments, err = s.reveal(arguments, executionCell(found, "arguments"), name); err != nil {
		return Execution{}, err
	}
	if outcome == nil && settledAt == 0 {
		return found, nil
	}
	if err := s.seal.openJSON(outcome, executionCell(found, "outcome"), &found.Outcome); err != nil {
		return Execution{}, &CorruptRowError{Table: tableExecution, Key: name, Column: "outcome", Cause: err}
	}
	if found.Status != string(found.Outcome.Kind) {
		return Execution{}, &CorruptRowError{
			Table: tableExecution, Key: name, Column: "status", Cause: errors.New("is not how it ended"),
		}
	}
	return found, nil
}

// sealOutcome is the column of an outcome.
func (s *Store) sealOutcome(of Execution, outcome approval.Outcome) ([]byte, error) {
	text, err := json.Marshal(outcome)
	if err != nil {
		return nil, errors.New("the outcome cannot be written as JSON")
	}
	return s.seal.bytes(text, executionCell(of, "outcome"))
}
