package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Statements are prepared once, on the pool that runs them. `IS NOT DISTINCT FROM` and `ON CONFLICT` are common to SQLite and
// PostgreSQL.
const (
	sqlEngine = `SELECT id, base_url, username, password, updated_at FROM engine WHERE id = $1`

	sqlEngines = `SELECT id, base_url, username, password, updated_at FROM engine ORDER BY id`

	sqlPutEngine = `INSERT INTO engine (id, base_url, username, password, updated_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET base_url = excluded.base_url, username = excluded.username,
			password = excluded.password, updated_at = excluded.updated_at`

	sqlDeleteEngine = `DELETE FROM engine WHERE id = $1`

	desiredColumns = `workspace, name, directory, engine_id, profile, config, metadata, token_source, updated_at`

	sqlDesired = `SELECT ` + desiredColumns + ` FROM connection_desired WHERE workspace = $1 AND name = $2 AND directory = $3`

	sqlListDesired = `SELECT ` + desiredColumns + ` FROM connection_desired
		WHERE ($1 = '' OR workspace = $1) AND ($2 = '' OR name = $2) AND ($3 = '' OR engine_id = $3)
		ORDER BY workspace, name, directory`

	sqlPutDesired = `INSERT INTO connection_desired (` + desiredColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (workspace, name, directory) DO UPDATE SET engine_id = excluded.engine_id, profile = excluded.profile,
			config = excluded.config, metadata = excluded.metadata, token_source = excluded.token_source,
			updated_at = excluded.updated_at`

	sqlDeleteDesired = `DELETE FROM connection_desired WHERE workspace = $1 AND name = $2 AND directory = $3`

	sqlProbe = `SELECT last_probe_at, last_ok_at, misses, canary FROM connection_runtime
		WHERE workspace = $1 AND name = $2 AND directory = $3`

	sqlPutProbe = `INSERT INTO connection_runtime (workspace, name, directory, last_probe_at, last_ok_at, misses, canary)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (workspace, name, directory) DO UPDATE SET last_probe_at = excluded.last_probe_at,
			last_ok_at = excluded.last_ok_at, misses = excluded.misses, canary = excluded.canary`

	sqlLastPush = `SELECT push_generation, push_revision, push_started_at, push_deadline, push_finished_at FROM connection_runtime
		WHERE workspace = $1 AND name = $2 AND directory = $3`

	// The condition makes looking and beginning one step: of two processes that saw no push, one begins.
	sqlBeginPush = `INSERT INTO connection_runtime (workspace, name, directory, push_generation, push_revision, push_started_at,
			push_deadline, push_finished_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0)
		ON CONFLICT (workspace, name, directory) DO UPDATE SET push_generation = excluded.push_generation,
			push_revision = excluded.push_revision, push_started_at = excluded.push_started_at,
			push_deadline = excluded.push_deadline, push_finished_at = 0
		WHERE connection_runtime.push_finished_at <> 0 OR connection_runtime.push_deadline <= excluded.push_started_at`

	sqlFinishPush = `UPDATE connection_runtime SET push_finished_at = $4
		WHERE workspace = $1 AND name = $2 AND directory = $3 AND push_started_at <> 0`

	sqlDeleteRuntime = `DELETE FROM connection_runtime WHERE workspace = $1 AND name = $2 AND directory = $3`

	sqlProof = `SELECT proof FROM keyset_proof WHERE purpose = $1`

	sqlPutProof = `INSERT INTO keyset_proof (purpose, proof) VALUES ($1, $2)`
)

// statements are the ones that run often.
type statements struct {
	engine, desired, effective, keysByEngine, token, probe, lastPush *sql.Stmt // on the reading pool

	putProbe, beginPush, finishPush *sql.Stmt // on the writing connection

	gatewayStatements
}

// prepared is a statement and the pool that it is for.
type prepared struct {
	target *(*sql.Stmt)
	pool   *sql.DB
	text   string
}

func (s *statements) prepare(ctx context.Context, read, write *sql.DB) error {
	for _, each := range append(s.gatewayStatements.list(read, write), []prepared{
		{&s.engine, read, sqlEngine},
		{&s.desired, read, sqlDesired},
		{&s.effective, read, sqlEffective},
		{&s.keysByEngine, read, sqlKeysByEngine},
		{&s.token, read, sqlToken},
		{&s.probe, read, sqlProbe},
		{&s.lastPush, read, sqlLastPush},
		{&s.putProbe, write, sqlPutProbe},
		{&s.beginPush, write, sqlBeginPush},
		{&s.finishPush, write, sqlFinishPush},
	}...) {
		statement, err := each.pool.PrepareContext(ctx, each.text)
		if err != nil {
			return fmt.Errorf("prepare statement: %w", err)
		}
		*each.target = statement
	}
	return nil
}
