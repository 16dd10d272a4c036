package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const tableEngine = "engine"

func passwordCell(engine Engine) cell {
	return cell{table: tableEngine, column: "password", row: []string{engine.ID, engine.BaseURL, engine.Username}}
}

// PutEngine writes an engine. Equal content is not written again and keeps its time.
func (s *Store) PutEngine(ctx context.Context, engine Engine) (changed bool, err error) {
	if engine.ID == "" || engine.BaseURL == "" {
		return false, errors.New("put engine: an id and a base URL are needed")
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		stored, err := s.scanEngine(tx.QueryRowContext(ctx, sqlEngine, engine.ID))
		if err == nil && stored.BaseURL == engine.BaseURL && stored.Username == engine.Username && stored.Password == engine.Password {
			return nil
		}
		if err != nil && !replaceable(err) {
			return err
		}
		changed = true
		return s.writeEngine(ctx, tx, engine)
	})
	if err != nil {
		return false, fmt.Errorf("put engine %q: %w", engine.ID, err)
	}
	return changed, nil
}

// Engine reads an engine: ErrNotFound, or a *CorruptRowError.
func (s *Store) Engine(ctx context.Context, id string) (Engine, error) {
	engine, err := s.scanEngine(s.run.engine.QueryRowContext(ctx, id))
	if err != nil {
		return Engine{}, fmt.Errorf("read engine %q: %w", id, err)
	}
	return engine, nil
}

// Engines reads all engines in the order of their ids. Rows that cannot be read do not hide the others: the answer has the good
// ones also when the error joins a *CorruptRowError for each bad one.
func (s *Store) Engines(ctx context.Context) ([]Engine, error) {
	engines, err := list(ctx, s.read, sqlEngines, nil, s.scanEngine)
	if err != nil {
		return engines, fmt.Errorf("list engines: %w", err)
	}
	return engines, nil
}

// DeleteEngine removes an engine and tells whether it was there; ErrEngineInUse when connections or
// workspaces still name it.
func (s *Store) DeleteEngine(ctx context.Context, id string) (existed bool, err error) {
	result, err := s.exec(ctx, sqlDeleteEngine, id)
	if isForeignKeyFault(err) {
		err = ErrEngineInUse
	}
	if err != nil {
		return false, fmt.Errorf("delete engine %q: %w", id, err)
	}
	return affected(result)
}

func (s *Store) writeEngine(ctx context.Context, tx *sql.Tx, engine Engine) error {
	password, err := s.seal.bytes([]byte(engine.Password), passwordCell(engine))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlPutEngine, engine.ID, engine.BaseURL, engine.Username, password, stamp(engine.UpdatedAt))
	return err
}

func (s *Store) scanEngine(row scanner) (Engine, error) {
	var engine Engine
	var password []byte
	var updatedAt int64
	if err := row.Scan(&engine.ID, &engine.BaseURL, &engine.Username, &password, &updatedAt); err != nil {
		return Engine{}, missing(err)
	}
	at := passwordCell(engine)
	plain, err := s.seal.open(password, at)
	if err != nil {
		return Engine{}, &CorruptRowError{Table: at.table, Key: fmt.Sprintf("id %q", engine.ID), Column: at.column, Cause: err}
	}
	engine.Password, engine.UpdatedAt = string(plain), fromMicros(updatedAt)
	return engine, nil
}

// stamp is the time of a change as it is stored.
func stamp(given time.Time) int64 {
	if given.IsZero() {
		given = time.Now()
	}
	return given.UnixMicro()
}
