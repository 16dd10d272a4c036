package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
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
	text, err := encode(want)
	if err != nil {
		return false, err
	}
	// Looked at without the writers' lock first: applying a large manifest again then writes nothing and waits for nobody.
	if same, err := s.sameDesired(s.run.desired.QueryRowContext(ctx, want.Workspace, want.Name, want.Directory), want, text); same || err != nil {
		return false, err
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		same, err := s.sameDesired(tx.QueryRowContext(ctx, sqlDesired, want.Workspace, want.Name, want.Directory), want, text)
		if same || err != nil {
			return err
		}
		changed = true
		return s.writeDesired(ctx, tx, want, text)
	})
	if isForeignKeyFault(err) {
		err = fmt.Errorf("%w: %q", ErrUnknownEngine, want.EngineID)
	}
	return changed && err == nil, err
}

// Desired reads a desired config: ErrNotFound, or a *CorruptRowError.
func (s *Store) Desired(ctx context.Context, key Key) (Desired, error) {
	found, err := s.scanDesired(s.run.desired.QueryRowContext(ctx, key.Workspace, key.Name, key.Directory))
	if err != nil {
		return Desired{}, fmt.Errorf("read desired config (%s): %w", key, err)
	}
	return found, nil
}

// DeleteDesired removes a desired config, also one that cannot be read, and tells whether it was there.
func (s *Store) DeleteDesired(ctx context.Context, key Key) (existed bool, err error) {
	result, err := s.write.ExecContext(ctx, sqlDeleteDesired, key.Workspace, key.Name, key.Directory)
	if err != nil {
		return false, fmt.Errorf("delete desired config (%s): %w", key, err)
	}
	return affected(result)
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

// KeysByEngine lists the connections of an engine in the order of their keys. It unseals nothing, so it lists those too whose
// config cannot be read.
func (s *Store) KeysByEngine(ctx context.Context, engineID string) (found []Key, err error) {
	rows, err := s.run.keysByEngine.QueryContext(ctx, engineID)
	if err != nil {
		return nil, fmt.Errorf("list connections of engine %q: %w", engineID, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key Key
		if err := rows.Scan(&key.Workspace, &key.Name, &key.Directory); err != nil {
			return nil, fmt.Errorf("list connections of engine %q: %w", engineID, err)
		}
		found = append(found, key)
	}
	return found, rows.Err()
}

// plaintext is the sealed columns before sealing.
type plaintext struct{ config, metadata []byte }

func encode(want Desired) (plaintext, error) {
	config, err := json.Marshal(want.Config)
	if err != nil {
		return plaintext{}, errors.New("the config cannot be written as JSON")
	}
	metadata, err := json.Marshal(want.Metadata)
	if err != nil {
		return plaintext{}, errors.New("the metadata cannot be written as JSON")
	}
	return plaintext{config: config, metadata: metadata}, nil
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
	// Compared in the form that a read gives back: an absent value and its null are the same.
	there, err := encode(stored)
	if err != nil {
		return false, err
	}
	again, err := rewrite(text)
	return bytes.Equal(there.config, again.config) && bytes.Equal(there.metadata, again.metadata), err
}

func rewrite(text plaintext) (plaintext, error) {
	var read Desired
	if err := errors.Join(json.Unmarshal(text.config, &read.Config), json.Unmarshal(text.metadata, &read.Metadata)); err != nil {
		return plaintext{}, errNotJSON
	}
	return encode(read)
}

func (s *Store) writeDesired(ctx context.Context, tx *sql.Tx, want Desired, text plaintext) error {
	config, err := s.seal.bytes(text.config, desiredCell(want, "config"))
	if err != nil {
		return err
	}
	metadata, err := s.seal.bytes(text.metadata, desiredCell(want, "metadata"))
	if err != nil {
		return err
	}
	engine := sql.NullString{String: want.EngineID, Valid: want.EngineID != ""}
	_, err = tx.ExecContext(ctx, sqlPutDesired, want.Workspace, want.Name, want.Directory, engine, string(want.Profile),
		config, metadata, stamp(want.UpdatedAt))
	return err
}

func (s *Store) scanDesired(row scanner) (Desired, error) {
	var found Desired
	var engine sql.NullString
	var profile string
	var config, metadata []byte
	var updatedAt int64
	err := row.Scan(&found.Workspace, &found.Name, &found.Directory, &engine, &profile, &config, &metadata, &updatedAt)
	if err != nil {
		return Desired{}, missing(err)
	}
	corrupt := func(column string, cause error) (Desired, error) {
		return Desired{}, &CorruptRowError{Table: tableDesired, Key: found.Key.String(), Column: column, Cause: cause}
	}
	found.EngineID, found.Profile, found.UpdatedAt = engine.String, desired.Profile(profile), fromMicros(updatedAt)
	if !found.Profile.Valid() {
		return corrupt("profile", errors.New("is no profile"))
	}
	if err := s.seal.openJSON(config, desiredCell(found, "config"), &found.Config); err != nil {
		return corrupt("config", err)
	}
	if err := s.seal.openJSON(metadata, desiredCell(found, "metadata"), &found.Metadata); err != nil {
		return corrupt("metadata", err)
	}
	return found, nil
}
