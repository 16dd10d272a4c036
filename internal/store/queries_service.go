package store

// Statements of the rows that a service has beside its connections.
const (
	workspaceColumns = `id, directory, engine_id, account, seal, updated_at`

	sqlWorkspace = `SELECT ` + workspaceColumns + ` FROM workspace WHERE id = $1 AND directory = $2`

	sqlWorkspaces = `SELECT ` + workspaceColumns + ` FROM workspace
		WHERE ($1 = '' OR id = $1) AND ($2 = '' OR account = $2) AND ($3 = '' OR engine_id = $3)
		ORDER BY id, directory`

	sqlPutWorkspace = `INSERT INTO workspace (` + workspaceColumns + `) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (id, directory) DO UPDATE SET engine_id = excluded.engine_id, account = excluded.account,
			seal = excluded.seal, updated_at = excluded.updated_at`

	sqlDeleteWorkspace = `DELETE FROM workspace WHERE id = $1 AND directory = $2`

	accountColumns = `account, name, profile, config, metadata, token_source, updated_at`

	sqlAccountDesired = `SELECT ` + accountColumns + ` FROM account_desired WHERE account = $1 AND name = $2`

	sqlListAccountDesired = `SELECT ` + accountColumns + ` FROM account_desired WHERE $1 = '' OR account = $1
		ORDER BY account, name`

	sqlPutAccountDesired = `INSERT INTO account_desired (` + accountColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (account, name) DO UPDATE SET profile = excluded.profile, config = excluded.config,
			metadata = excluded.metadata, token_source = excluded.token_source, updated_at = excluded.updated_at`

	sqlDeleteAccountDesired = `DELETE FROM account_desired WHERE account = $1 AND name = $2`

	intentColumns = `account, workspace, name, kind, revision, changed_by, reason, updated_at`

	sqlIntent = `SELECT ` + intentColumns + ` FROM intent WHERE account = $1 AND workspace = $2 AND name = $3`

	sqlIntents = `SELECT ` + intentColumns + ` FROM intent
		WHERE ($1 = '' OR account = $1) AND ($2 = '' OR workspace = $2) AND ($3 = '' OR name = $3)
		ORDER BY account, workspace, name`

	sqlPutIntent = `INSERT INTO intent (` + intentColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (account, workspace, name) DO UPDATE SET kind = excluded.kind, revision = excluded.revision,
			changed_by = excluded.changed_by, reason = excluded.reason, updated_at = excluded.updated_at`

	sqlDeleteIntent = `DELETE FROM intent WHERE account = $1 AND workspace = $2 AND name = $3`

	sqlCount = `INSERT INTO counter (name, value) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET value = counter.value + 1 RETURNING value`

	sqlCountOnly = `INSERT INTO counter (name, value) VALUES ($1, 1)
		ON CONFLICT (name) DO UPDATE SET value = counter.value + 1`

	// One statement sees one state of the database: no transaction is needed to read it all at once.
	sqlEffective = `SELECT d.workspace, d.name, d.directory, d.engine_id, d.profile, d.config, d.metadata, d.token_source, d.updated_at,
			a.account, a.name, a.profile, a.config, a.metadata, a.token_source, a.updated_at,
			w.id, w.directory, w.engine_id, w.account, w.seal, w.updated_at,
			ai.account, ai.workspace, ai.name, ai.kind, ai.revision, ai.changed_by, ai.reason, ai.updated_at,
			wi.account, wi.workspace, wi.name, wi.kind, wi.revision, wi.changed_by, wi.reason, wi.updated_at
		FROM (SELECT CAST($1 AS TEXT) AS workspace, CAST($2 AS TEXT) AS name, CAST($3 AS TEXT) AS directory) AS k
		LEFT JOIN connection_desired d ON d.workspace = k.workspace AND d.name = k.name AND d.directory = k.directory
		LEFT JOIN workspace w ON w.id = k.workspace AND w.directory = k.directory
		LEFT JOIN account_desired a ON a.account = w.account AND a.name = k.name
		LEFT JOIN intent ai ON ai.account = w.account AND ai.workspace = '' AND ai.name = k.name
		LEFT JOIN intent wi ON wi.account = '' AND wi.workspace = k.workspace AND wi.name = k.name`

	// wanted is all connections that should be: those with a config of their own, outside and inside of known workspaces, and
	// each workspace's share of its account's configs. What somebody removed is none of them.
	withWanted = `WITH candidate AS (
			SELECT d.workspace, d.name, d.directory, d.engine_id, '' AS account FROM connection_desired d
				WHERE NOT EXISTS (SELECT 1 FROM workspace w WHERE w.id = d.workspace AND w.directory = d.directory)
			UNION
			SELECT d.workspace, d.name, d.directory, w.engine_id, w.account
				FROM workspace w JOIN connection_desired d ON d.workspace = w.id AND d.directory = w.directory
			UNION
			SELECT w.id, a.name, w.directory, w.engine_id, w.account
				FROM workspace w JOIN account_desired a ON a.account = w.account
		), wanted AS (
			SELECT workspace, name, directory, engine_id FROM candidate WHERE NOT EXISTS (
				SELECT 1 FROM intent i WHERE i.name = candidate.name AND i.kind = 'removed' AND
					(i.workspace = '' AND i.account = candidate.account OR i.account = '' AND i.workspace = candidate.workspace))
		) `

	sqlKeys = withWanted + `SELECT workspace, name, directory, engine_id FROM wanted ORDER BY workspace, name, directory`

	sqlKeysByEngine = withWanted + `SELECT workspace, name, directory, engine_id FROM wanted WHERE engine_id = $1
		ORDER BY workspace, name, directory`

	sqlEnginesInUse = withWanted + `SELECT DISTINCT engine_id FROM wanted WHERE engine_id IS NOT NULL ORDER BY engine_id`

	//nolint:gosec // SQL, no credential
	sqlToken = `SELECT credential, source_digest, sequence, access_token, refresh_token, minted_at, expires_at, renew_at, dropped
		FROM credential_token WHERE credential = $1`

	sqlPutToken = `INSERT INTO credential_token (credential, source_digest, sequence, access_token, refresh_token, minted_at,
			expires_at, renew_at, dropped)
		VALUES ($1, $2, 1, $3, $4, $5, $6, $7, 0)
		ON CONFLICT (credential) DO UPDATE SET source_digest = excluded.source_digest,
			sequence = credential_token.sequence + 1, access_token = excluded.access_token,
			refresh_token = excluded.refresh_token, minted_at = excluded.minted_at, expires_at = excluded.expires_at,
			renew_at = excluded.renew_at, dropped = 0`

	sqlAmendToken = `INSERT INTO credential_token (credential, source_digest, sequence, access_token, refresh_token, minted_at,
			expires_at, renew_at, dropped)
		VALUES ($1, $2, 0, $3, $4, $5, $6, $7, 1)
		ON CONFLICT (credential) DO UPDATE SET source_digest = excluded.source_digest, access_token = excluded.access_token,
			refresh_token = excluded.refresh_token, minted_at = excluded.minted_at, expires_at = excluded.expires_at,
			renew_at = excluded.renew_at,
			dropped = CASE WHEN credential_token.dropped = 1 OR excluded.access_token IS NULL THEN 1 ELSE 0 END`

	sqlDropToken = `UPDATE credential_token SET dropped = 1 WHERE credential = $1 AND (sequence <= $2 OR $2 = 0) AND dropped = 0` //nolint:gosec // SQL, no credential

	// A credential has a row for each source that it was minted from: its name, "#" and what names the source.
	//nolint:gosec // SQL, no credential
	sqlForgetToken = `UPDATE credential_token SET access_token = NULL, refresh_token = NULL, dropped = 1
		WHERE credential = $1 OR substr(credential, 1, length($1) + 1) = $1 || '#'`

	sqlLease = `SELECT holder, fence, held_until FROM credential_lease WHERE credential = $1`

	sqlAcquireLease = `INSERT INTO credential_lease (credential, holder, fence, held_until) VALUES ($1, $2, 1, $3)
		ON CONFLICT (credential) DO UPDATE SET holder = excluded.holder, fence = credential_lease.fence + 1,
			held_until = excluded.held_until
		WHERE credential_lease.held_until <= $4 OR credential_lease.holder = excluded.holder
		RETURNING fence`

	sqlReleaseLease = `UPDATE credential_lease SET holder = '', held_until = 0 WHERE credential = $1 AND holder = $2 AND fence = $3`

	apiTokenColumns = `id, name, role, hash, created_at, created_by, expires_at, last_used_at, revoked_at, account` //nolint:gosec // SQL, no credential

	sqlAPIToken = `SELECT ` + apiTokenColumns + ` FROM api_token WHERE id = $1`

	sqlAPITokens = `SELECT ` + apiTokenColumns + ` FROM api_token ORDER BY id`

	sqlPutAPIToken = `INSERT INTO api_token (` + apiTokenColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, $8)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, role = excluded.role, hash = excluded.hash,
			created_at = excluded.created_at, created_by = excluded.created_by, expires_at = excluded.expires_at,
			account = excluded.account
		WHERE api_token.revoked_at = 0`

	sqlRevokeAPIToken = `UPDATE api_token SET revoked_at = $2, hash = NULL WHERE id = $1 AND revoked_at = 0`

	sqlTouchAPIToken = `UPDATE api_token SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`

	requestColumns = `id, principal, idempotency_key, kind, workspace, name, directory, digest, created_at, finished_at, status, result,
		started_at, holder, held_until, passing, plan, intent`

	sqlRequest = `SELECT ` + requestColumns + ` FROM api_request WHERE id = $1`

	sqlRequestByKey = `SELECT ` + requestColumns + ` FROM api_request WHERE principal = $1 AND idempotency_key = $2`

	sqlBeginRequest = `INSERT INTO api_request (` + requestColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, NULL,
			$9, $10, $11, 0, NULL, NULL)
		ON CONFLICT (principal, idempotency_key) DO NOTHING`

	// A failure that passes makes room for the next try; anything else that is finished stays.
	sqlClaimRequest = `UPDATE api_request SET holder = $2, held_until = $3, started_at = $4, finished_at = 0, status = 0, result = NULL,
			passing = 0
		WHERE id = $1 AND (finished_at = 0 AND held_until <= $4 OR passing = 1)`

	sqlRenewRequest = `UPDATE api_request SET held_until = $3 WHERE id = $1 AND holder = $2 AND finished_at = 0`

	sqlReleaseRequest = `UPDATE api_request SET holder = '', held_until = 0 WHERE id = $1 AND holder = $2 AND finished_at = 0`

	sqlFinishRequest = `UPDATE api_request SET status = $2, result = $3, finished_at = $4, passing = $5, holder = '', held_until = 0
		WHERE id = $1`

	sqlPlanRequest = `UPDATE api_request SET plan = $2 WHERE id = $1`

	sqlIntendRequest = `UPDATE api_request SET intent = $2, plan = $3 WHERE id = $1`

	sqlPruneRequests = `DELETE FROM api_request WHERE created_at < $1`
)
