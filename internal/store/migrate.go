package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

const (
	// proofVersion is the migration that makes room for the proof of the keysets.
	proofVersion = 1
	// workspacesVersion is the migration that fills workspace from the connections of the first release.
	workspacesVersion = 3
)

// migrate brings the schema up to date. The keysets are proven before anything is sealed with them.
func migrate(ctx context.Context, db *sql.DB, path string, owned *keys.Keys) error {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	fill := &goose.GoFunc{RunTx: (&Store{seal: sealer{aead: owned.AEAD()}}).fillWorkspaces}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithGoMigrations(goose.NewGoMigration(workspacesVersion, fill, nil)))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	found, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if found > known {
		return &NewerSchemaError{Path: path, Found: found, Known: known}
	}
	if found < proofVersion {
		if _, err := provider.UpTo(ctx, proofVersion); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
	}
	if err := proveKeysets(ctx, db, path, owned); err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// fillWorkspaces makes a workspace of each directory that connections name, as long as they agree on one engine: elsewhere each
// connection keeps its own. Connections that cannot be read are left out, as nobody knows who chose their engine.
func (s *Store) fillWorkspaces(ctx context.Context, tx *sql.Tx) error {
	found, err := list(ctx, tx, sqlListDesired, []any{"", "", ""}, s.scanDesired)
	var corrupt *CorruptRowError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	for _, each := range workspacesOf(found) {
		if err := s.writeWorkspace(ctx, tx, each); err != nil {
			return err
		}
	}
	return nil
}

func workspacesOf(connections []Desired) []Workspace {
	type place struct{ id, directory string }
	var (
		order     []place
		engines   = map[place]string{}
		ambiguous = map[place]bool{}
	)
	for _, each := range connections {
		at := place{each.Workspace, each.Directory}
		engine, known := engines[at]
		if !known {
			order = append(order, at)
		}
		if engine == "" {
			engines[at] = each.EngineID
		} else if each.EngineID != "" && each.EngineID != engine {
			ambiguous[at] = true
		}
	}
	var found []Workspace
	for _, at := range order {
		if !ambiguous[at] {
			found = append(found, Workspace{ID: at.id, Directory: at.directory, EngineID: engines[at], Account: DefaultAccount})
		}
	}
	return found
}
