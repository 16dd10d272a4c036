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

// BeginDirect notes that calls are about to be made, all in one transaction. A call whose identity has begun one of its name before is
// not noted again: fresh is false, and existing is that one as it stands. Both answers are in the order of the calls.
func (s *Store) BeginDirect(ctx context.Context, calls []Direct) (existing []Direct, fresh []bool, err error) {
	for _, each := range calls {
		if each.Name == "" || !whole(each.Identity) {
			return nil, nil, errors.New("begin direct calls: a name, an account and an organisation are needed")
		}
	}
	existing, fresh = make([]Direct, len(calls)), make([]bool, len(calls))
	err = s.inTransaction(ctx, func(tx *sql.Tx) (err error) {
		statement := tx.StmtContext(ctx, s.run.beginDirect)
		for i, each := range calls {
			if existing[i], fresh[i], err = s.beginDirect(ctx, tx, statement, each); err != nil {
				return fmt.Errorf("%s: %w", each, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("begin direct calls: %w", err)
	}
	return existing, fresh, nil
}

func (s *Store) beginDirect(ctx context.Context, tx *sql.Tx, statement *sql.Stmt, want Direct) (row Direct, fresh bool, err error) {
	at, who := stamp(want.At), want.Identity
	result, err := statement.ExecContext(ctx, who.Account, who.Organisation, want.Name, want.Address, want.Digest, at)
	if err != nil {
		return Direct{}, false, err
	}
	if fresh, err = affected(result); err != nil {
		return Direct{}, false, err
	}
	if fresh {
		return Direct{Name: want.Name, Identity: who, Address: want.Address, Digest: want.Digest, At: fromMicros(at)}, true, nil
	}
	row, err = s.scanDirect(tx.QueryRowContext(ctx, sqlDirect, who.Account, who.Organisation, want.Name))
	return row, false, err
}

// FinishDirect writes the result of a direct call, which may be 64 MiB long; the first result stays. [ErrNotFound] where it was not
// begun with this address and digest, was taken back or was pruned.
func (s *Store) FinishDirect(ctx context.Context, done Direct) error {
	who := done.Identity
	sealed, err := s.seal.bytes(done.Result, directCell(done))
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	result, err := s.runWrite(ctx, s.run.finishDirect, who.Account, who.Organisation, done.Name, done.Address, done.Digest,
		stamp(done.DoneAt), done.ToolError, sealed)
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	if written, err := affected(result); written || err != nil {
		return err
	}
	found, err := s.Direct(ctx, who, done.Name)
	if err == nil && (found.Address != done.Address || found.Digest != done.Digest) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("finish %s: %w", done, err)
	}
	return nil
}

// DropDirect takes back a direct call that is known not to have been sent, and tells whether it was begun and not done.
func (s *Store) DropDirect(ctx context.Context, row Direct) (dropped bool, err error) {
	result, err := s.exec(ctx, sqlDropDirect, row.Identity.Account, row.Identity.Organisation, row.Name)
	if err != nil {
		return false, fmt.Errorf("drop %s: %w", row, err)
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
