package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

const tableDirect = "direct_call"

func directCell(d Direct) cell {
	return cell{table: tableDirect, column: columnResult, row: []string{
		d.Identity.Account, d.Identity.Organisation, d.Name, d.Address, d.Digest,
	}}
}

// BegunDirect is a direct call as it stands after it was begun.
type BegunDirect struct {
	Direct
	// Fresh says that nobody has begun it before: it may be made.
	Fresh bool
}

// BeginDirect notes that calls are about to be made, all in one transaction. A call whose identity has begun one of its name before is
// not noted again: it is given back as that one stands. The answer is in the order of the calls.
func (s *Store) BeginDirect(ctx context.Context, calls []Direct) ([]BegunDirect, error) {
	for _, each := range calls {
		if each.Name == "" || !whole(each.Identity) {
			return nil, errors.New("begin direct call: a name, an account and an organisation are needed")
		}
	}
	begun := make([]BegunDirect, 0, len(calls))
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		statement := tx.StmtContext(ctx, s.run.beginDirect)
		for _, each := range calls {
			row, err := s.beginDirect(ctx, tx, statement, each)
			if err != nil {
				return fmt.Errorf("%s: %w", each, err)
			}
			begun = append(begun, row)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("begin direct calls: %w", err)
	}
	return begun, nil
}

func (s *Store) beginDirect(ctx context.Context, tx *sql.Tx, statement *sql.Stmt, want Direct) (BegunDirect, error) {
	at, who := stamp(want.At), want.Identity
	result, err := statement.ExecContext(ctx, who.Account, who.Organisation, want.Name, want.Address, want.Digest, at)
	if err != nil {
		return BegunDirect{}, err
	}
	fresh, err := affected(result)
	if err != nil {
		return BegunDirect{}, err
	}
	if fresh {
		row := Direct{Name: want.Name, Identity: who, Address: want.Address, Digest: want.Digest, At: fromMicros(at)}
		return BegunDirect{Direct: row, Fresh: true}, nil
	}
	row, err := s.scanDirect(tx.QueryRowContext(ctx, sqlDirect, who.Account, who.Organisation, want.Name))
	return BegunDirect{Direct: row}, err
}

// FinishDirect writes the result of a direct call, which may be 64 MiB long; the first result stays. Address and Digest are those that
// it was begun with. [ErrNotFound] where it was not begun, was taken back or was pruned.
func (s *Store) FinishDirect(ctx context.Context, done Direct) error {
	who := done.Identity
	sealed, err := s.seal.bytes(done.Result, directCell(done))
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	result, err := s.runWrite(ctx, s.run.finishDirect, who.Account, who.Organisation, done.Name, stamp(done.DoneAt), done.ToolError, sealed)
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	if written, err := affected(result); written || err != nil {
		return err
	}
	_, err = s.Direct(ctx, who, done.Name)
	return err
}

// DropDirect takes back a direct call that is known not to have been sent, and tells whether it was begun and not done.
func (s *Store) DropDirect(ctx context.Context, who approval.Identity, name string) (dropped bool, err error) {
	result, err := s.exec(ctx, sqlDropDirect, who.Account, who.Organisation, name)
	if err != nil {
		return false, fmt.Errorf("drop direct call %q: %w", name, err)
	}
	return affected(result)
}

// Direct reads a direct call with its result: [ErrNotFound], or a *[CorruptRowError].
func (s *Store) Direct(ctx context.Context, who approval.Identity, name string) (Direct, error) {
	found, err := s.scanDirect(s.read.QueryRowContext(ctx, sqlDirect, who.Account, who.Organisation, name))
	if err != nil {
		return Direct{}, fmt.Errorf("read direct call %q: %w", name, err)
	}
	return found, nil
}

// PruneDirects forgets the direct calls that were begun before a time, done or not, and tells how many they were.
func (s *Store) PruneDirects(ctx context.Context, before time.Time) (int64, error) {
	result, err := s.exec(ctx, sqlPruneDirects, toMicros(before))
	if err != nil {
		return 0, fmt.Errorf("prune direct calls: %w", err)
	}
	return result.RowsAffected()
}

func (s *Store) scanDirect(row scanner) (Direct, error) {
	var found Direct
	var at, doneAt int64
	var result []byte
	err := row.Scan(&found.Identity.Account, &found.Identity.Organisation, &found.Name, &found.Address, &found.Digest, &at, &doneAt,
		&found.ToolError, &result)
	if err != nil {
		return Direct{}, missing(err)
	}
	found.At, found.DoneAt = fromMicros(at), fromMicros(doneAt)
	if result == nil && doneAt == 0 {
		return found, nil
	}
	found.Result, err = s.reveal(result, directCell(found), described("name", found.Name))
	if err != nil {
		return Direct{}, err
	}
	return found, nil
}
