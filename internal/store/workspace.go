package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// DefaultAccount is the account of workspaces for which none is given.
const DefaultAccount = "default"

// Workspace is a directory in which an engine works, and the account whose shared configs it gets. One id may have several
// directories.
type Workspace struct {
	ID        string
	Directory string
	EngineID  string // empty: no engine yet
	Account   string // put as empty: DefaultAccount

	UpdatedAt time.Time // of the last change; given as zero, the time of writing is taken
}

// String names the workspace.
func (w Workspace) String() string { return fmt.Sprintf("%s in %s", w.ID, w.Directory) }

// WorkspaceFilter selects workspaces; an empty field selects all.
type WorkspaceFilter struct {
	ID       string
	Account  string
	EngineID string
}

const tableWorkspace = "workspace"

// workspaceCell has nothing to hide: it proves that somebody with the keys gave this workspace to this account and engine.
func workspaceCell(w Workspace) cell {
	return cell{table: tableWorkspace, column: "seal", row: []string{w.ID, w.Directory, w.EngineID, w.Account}}
}

// PutWorkspace writes a workspace. Equal content is not written again and keeps its time. ErrUnknownEngine when its engine was not
// put before.
func (s *Store) PutWorkspace(ctx context.Context, want Workspace) (changed bool, err error) {
	if want.ID == "" {
		return false, errors.New("put workspace: an id is needed")
	}
	if want.Account == "" {
		want.Account = DefaultAccount
	}
	same := func(row scanner) (bool, error) {
		stored, err := s.scanWorkspace(row)
		if err != nil && !replaceable(err) {
			return false, err
		}
		return err == nil && stored.EngineID == want.EngineID && stored.Account == want.Account, nil
	}
	changed, err = s.putChanged(ctx, change{
		query: sqlWorkspace, args: []any{want.ID, want.Directory}, same: same,
		write: func(tx *sql.Tx) error { return s.writeWorkspace(ctx, tx, want) },
	})
	if isForeignKeyFault(err) {
		err = fmt.Errorf("%w: %q", ErrUnknownEngine, want.EngineID)
	}
	if err != nil {
		return false, fmt.Errorf("put workspace (%s): %w", want, err)
	}
	return changed, nil
}

// Workspaces reads the workspaces that the filter selects, in the order of id and directory. Rows that cannot be read do not hide
// the others: the answer has the good ones also when the error joins a *CorruptRowError for each bad one.
func (s *Store) Workspaces(ctx context.Context, filter WorkspaceFilter) ([]Workspace, error) {
	found, err := list(ctx, s.read, sqlWorkspaces, []any{filter.ID, filter.Account, filter.EngineID}, s.scanWorkspace)
	if err != nil {
		return found, fmt.Errorf("list workspaces: %w", err)
	}
	return found, nil
}

// DeleteWorkspace removes one directory of a workspace and tells whether it was there. Desired configs stay.
func (s *Store) DeleteWorkspace(ctx context.Context, id, directory string) (existed bool, err error) {
	result, err := s.exec(ctx, sqlDeleteWorkspace, id, directory)
	if err != nil {
		return false, fmt.Errorf("delete workspace (%s): %w", Workspace{ID: id, Directory: directory}, err)
	}
	return affected(result)
}

func (s *Store) writeWorkspace(ctx context.Context, tx *sql.Tx, want Workspace) error {
	proof, err := s.seal.bytes(nil, workspaceCell(want))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlPutWorkspace, want.ID, want.Directory, nullable(want.EngineID), want.Account, proof, stamp(want.UpdatedAt))
	return err
}

func (s *Store) scanWorkspace(row scanner) (Workspace, error) {
	var raw workspaceRow
	if err := row.Scan(raw.targets()...); err != nil {
		return Workspace{}, missing(err)
	}
	return s.openWorkspace(raw)
}

// workspaceRow is a row as it is stored; NULL where an outer join found none.
type workspaceRow struct {
	id, directory, engine, account sql.NullString
	seal                           []byte
	updatedAt                      sql.NullInt64
}

// targets are in the order of workspaceColumns.
func (r *workspaceRow) targets() []any {
	return []any{&r.id, &r.directory, &r.engine, &r.account, &r.seal, &r.updatedAt}
}

func (r *workspaceRow) there() bool { return r.id.Valid }

func (s *Store) openWorkspace(raw workspaceRow) (Workspace, error) {
	found := Workspace{
		ID: raw.id.String, Directory: raw.directory.String, EngineID: raw.engine.String, Account: raw.account.String,
		UpdatedAt: fromMicros(raw.updatedAt.Int64),
	}
	at := workspaceCell(found)
	if _, err := s.seal.open(raw.seal, at); err != nil {
		return Workspace{}, &CorruptRowError{Table: at.table, Key: found.String(), Column: at.column, Cause: err}
	}
	return found, nil
}
