package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const tableDesired = "connection_desired"

func desiredCell(row Desired, column string) cell {
	return cell{
		table: tableDesired, column: column,
		row: []string{row.Workspace, row.Name, row.Directory, row.EngineID, string(row.Profile)},
	}
}

// PutDesired writes a desired config. Equal content is not written again and keeps its time; changed tells whether it was
// written. ErrUnknownEngine when its engine was not put before.
func (s *Store) PutDesired(ctx context.Context, want Desired) (changed bool, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("put desired config (%s): %w", want.Key, err)
		}
	}()
	if want.Workspace == "" || want.Name == "" {
		return false, errors.New("a workspace and a name are needed")
	}
	if !want.Profile.Valid() {
		return false, fmt.Errorf("there is no profile %q", want.Profile)
	}
	text, err := encode(want.content())
	if err != nil {
		return false, err
	}
	changed, err = s.putChanged(ctx, change{
		query: sqlDesired, args: []any{want.Workspace, want.Name, want.Directory},
		same:  func(row scanner) (bool, error) { return s.sameDesired(row, want, text) },
		write: func(tx *sql.Tx) error { return s.writeDesired(ctx, tx, want, text) },
	})
	if isForeignKeyFault(err) {
		err = fmt.Errorf("%w: %q", ErrUnknownEngine, want.EngineID)
	}
	return changed, err
}

// Desired reads a desired config: ErrNotFound, or a *CorruptRowError.
func (s *Store) Desired(ctx context.Context, key Key) (Desired, error) {
	found, err := s.scanDesired(s.run.desired.QueryRowContext(ctx, key.Workspace, key.Name, key.Directory))
	if err != nil {
		return Desired{}, fmt.Errorf("read desired config (%s): %w", key, err)
	}
	return found, nil
}

// DeleteDesired removes a desired config, also one that cannot be read, and what was minted for it. It tells whether it was there.
func (s *Store) DeleteDesired(ctx context.Context, key Key) (existed bool, err error) {
	existed, err = s.deleteWithToken(ctx, ConnectionCredential(key), sqlDeleteDesired, key.Workspace, key.Name, key.Directory)
	if err != nil {
		return false, fmt.Errorf("delete desired config (%s): %w", key, err)
	}
	return existed, nil
}

// ListDesired reads the desired configs that the filter selects, in the order of their keys. Rows that cannot be read do not hide
// the others: the answer has the good ones also when the error joins a *CorruptRowError for each bad one.
func (s *Store) ListDesired(ctx context.Context, filter Filter) ([]Desired, error) {
	found, err := list(ctx, s.read, sqlListDesired, []any{filter.Workspace, filter.Name, filter.EngineID}, s.scanDesired)
	if err != nil {
		return found, fmt.Errorf("list desired configs: %w", err)
	}
	return found, nil
}

// sameDesired tells whether the row holds what is wanted. A damaged row does not.
func (s *Store) sameDesired(row scanner, want Desired, text plaintext) (bool, error) {
	stored, err := s.scanDesired(row)
	if err != nil {
		if replaceable(err) {
			return false, nil
		}
		return false, err
	}
	if stored.EngineID != want.EngineID || stored.Profile != want.Profile {
		return false, nil
	}
	return text.sameAs(stored.content())
}

func (s *Store) writeDesired(ctx context.Context, tx *sql.Tx, want Desired, text plaintext) error {
	sealed, err := s.sealContent(text, func(column string) cell { return desiredCell(want, column) })
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlPutDesired, want.Workspace, want.Name, want.Directory, nullable(want.EngineID), string(want.Profile),
		sealed.config, sealed.metadata, sealed.source, stamp(want.UpdatedAt))
	return err
}

func (s *Store) scanDesired(row scanner) (Desired, error) {
	var raw desiredRow
	if err := row.Scan(raw.targets()...); err != nil {
		return Desired{}, missing(err)
	}
	return s.openDesired(raw)
}

// desiredRow is a row as it is stored; NULL where an outer join found none.
type desiredRow struct {
	workspace, name, directory, engine, profile sql.NullString
	sealed                                      sealedContent
	updatedAt                                   sql.NullInt64
}

// targets are in the order of desiredColumns.
func (r *desiredRow) targets() []any {
	return []any{&r.workspace, &r.name, &r.directory, &r.engine, &r.profile, &r.sealed.config, &r.sealed.metadata, &r.sealed.source, &r.updatedAt}
}

func (r *desiredRow) there() bool { return r.workspace.Valid }

// clear is what can be read without keys.
func (r *desiredRow) clear() Desired {
	return Desired{
		Key:      Key{Workspace: r.workspace.String, Name: r.name.String, Directory: r.directory.String},
		EngineID: r.engine.String, Profile: desired.Profile(r.profile.String), UpdatedAt: fromMicros(r.updatedAt.Int64),
	}
}

func (s *Store) openDesired(raw desiredRow) (Desired, error) {
	found := raw.clear()
	opened, err := s.openContent(raw.sealed, found.Profile, func(column string) cell { return desiredCell(found, column) })
	if err != nil {
		return Desired{}, damaged(err, tableDesired, found.Key.String())
	}
	found.Config, found.Metadata, found.TokenSource = opened.config, opened.metadata, opened.source
	return found, nil
}

func (d Desired) content() content {
	return content{config: d.Config, metadata: d.Metadata, source: d.TokenSource}
}
