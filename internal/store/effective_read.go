package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// KeyOfEngine is a connection and the engine that it belongs to.
type KeyOfEngine struct {
	Key
	EngineID string // empty: the workspace has no engine yet
}

// Effective reads what a connection should be, from one state of the database: ErrNotFound when neither it nor its account has a
// config of that name, or a *CorruptRowError. A row that does not count, such as the own config under a shared one or any config
// of a removed connection, may be damaged.
func (s *Store) Effective(ctx context.Context, key Key) (Effective, error) {
	var raw effectiveRow
	err := s.run.effective.QueryRowContext(ctx, key.Workspace, key.Name, key.Directory).Scan(raw.targets()...)
	var found Effective
	if err == nil {
		found, err = s.openEffective(key, &raw)
	}
	if err != nil {
		return Effective{}, fmt.Errorf("read effective config (%s): %w", key, err)
	}
	return found, nil
}

// Keys lists all connections that should be, those of shared configs too, in the order of their keys. It unseals nothing, so it
// lists those too whose config cannot be read.
func (s *Store) Keys(ctx context.Context) ([]KeyOfEngine, error) {
	found, err := list(ctx, s.read, sqlKeys, nil, scanKey)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	return found, nil
}

// KeysByEngine is Keys for one engine.
func (s *Store) KeysByEngine(ctx context.Context, engineID string) (found []Key, err error) {
	rows, err := s.run.keysByEngine.QueryContext(ctx, engineID)
	if err != nil {
		return nil, fmt.Errorf("list connections of engine %q: %w", engineID, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		each, err := scanKey(rows)
		if err != nil {
			return nil, fmt.Errorf("list connections of engine %q: %w", engineID, err)
		}
		found = append(found, each.Key)
	}
	return found, rows.Err()
}

// EnginesInUse lists the ids of the engines that connections belong to.
func (s *Store) EnginesInUse(ctx context.Context) ([]string, error) {
	ids, err := list(ctx, s.read, sqlEnginesInUse, nil, func(row scanner) (id string, err error) {
		return id, row.Scan(&id)
	})
	if err != nil {
		return nil, fmt.Errorf("list engines in use: %w", err)
	}
	return ids, nil
}

func scanKey(row scanner) (found KeyOfEngine, err error) {
	var engine sql.NullString
	err = row.Scan(&found.Workspace, &found.Name, &found.Directory, &engine)
	found.EngineID = engine.String
	return found, err
}

// effectiveRow is the answer to sqlEffective.
type effectiveRow struct {
	own                desiredRow
	shared             accountRow
	workspace          workspaceRow
	ofAccount, ofPlace intentRow
}

func (r *effectiveRow) targets() []any {
	targets := append(r.own.targets(), r.shared.targets()...)
	targets = append(targets, r.workspace.targets()...)
	targets = append(targets, r.ofAccount.targets()...)
	return append(targets, r.ofPlace.targets()...)
}

// openEffective unseals only what counts.
func (s *Store) openEffective(key Key, raw *effectiveRow) (Effective, error) {
	l := layers{key: key, ofAccount: raw.ofAccount.intent(), ofPlace: raw.ofPlace.intent()}
	if raw.workspace.there() {
		workspace, err := s.openWorkspace(raw.workspace)
		if err != nil {
			return Effective{}, err
		}
		l.workspace = &workspace
	}
	decisive := decide(l.ofAccount, l.ofPlace)
	if err := s.openConfigs(&l, raw, decisive != nil && decisive.Kind == IntentRemoved); err != nil {
		return Effective{}, err
	}
	found, ok := merge(l)
	if !ok {
		return Effective{}, ErrNotFound
	}
	return found, nil
}

func (s *Store) openConfigs(l *layers, raw *effectiveRow, removed bool) error {
	switch {
	case raw.shared.there():
		shared := raw.shared.clear()
		l.shared = &shared
		if removed {
			return nil
		}
		opened, err := s.openAccountDesired(raw.shared)
		l.shared = &opened
		return err
	case raw.own.there():
		own := raw.own.clear()
		l.own = &own
		if removed {
			return nil
		}
		opened, err := s.openDesired(raw.own)
		l.own = &opened
		return err
	default:
		return nil
	}
}
