package store

import (
	"strconv"
	"strings"
)

// Statements of executions, calls and the audit.
const (
	executionColumns = `key, account, organisation, session, mode, resource, client, request, address, digest, policy, created_at,
		status, settled_at, retained_until, outcome, arguments`

	sqlExecutions = `SELECT ` + executionColumns + ` FROM execution`

	sqlExecution = sqlExecutions + ` WHERE key = $1`

	sqlExecutionByRequest = sqlExecutions + ` WHERE account = $1 AND organisation = $2 AND request = $3`

	sqlSizedArguments = `SELECT key, account, organisation, session, mode, resource, address, digest, policy, length(arguments),
		CASE WHEN length(arguments) <= ? THEN arguments END FROM execution`

	sqlPutExecution = `INSERT INTO execution (` + executionColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 0, NULL, $14) ON CONFLICT DO NOTHING`

	sqlSettleExecution = `UPDATE execution SET status = $2, settled_at = $3, retained_until = $4, outcome = $5
		WHERE key = $1 AND settled_at = 0`

	// It waits as long as one of its pauses does.
	sqlStandExecution = `UPDATE execution SET status = CASE
			WHEN EXISTS (SELECT 1 FROM execution_pause p WHERE p.execution = $1 AND p.open = 1) THEN 'waiting' ELSE 'running' END
		WHERE key = $1 AND settled_at = 0`

	sqlOverdueExecutions = `SELECT key FROM execution WHERE retained_until <> 0 AND retained_until <= $1
		ORDER BY retained_until LIMIT $2`

	sqlDeleteExecution = `DELETE FROM execution WHERE key = $1`
	sqlDeletePauses    = `DELETE FROM execution_pause WHERE execution = $1`
	sqlDeleteSteps     = `DELETE FROM execution_event WHERE execution = $1`
	sqlDeleteCalls     = `DELETE FROM upstream_call WHERE execution = $1`

	pauseColumns = `id, execution, account, organisation, session, address, client, policy, digest, created_at, open, outcome, changed,
		pause`

	sqlPauses = `SELECT ` + pauseColumns + ` FROM execution_pause`

	sqlPause = sqlPauses + ` WHERE id = $1`

	sqlPausesSince = sqlPauses + ` WHERE changed > $1 ORDER BY changed LIMIT $2`

	sqlUnfinishedPauses = `SELECT id FROM execution_pause WHERE execution = $1 AND outcome = '' ORDER BY created_at, id`

	sqlPauseExists = `SELECT count(*) FROM execution_pause WHERE id = $1`

	sqlPutPause = `INSERT INTO execution_pause (` + pauseColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

	sqlDecidePause = `UPDATE execution_pause SET open = $2, pause = $3, changed = $4 WHERE id = $1`

	sqlEndPause = `UPDATE execution_pause SET outcome = $2, changed = $3 WHERE id = $1`

	sqlCountOpenPauses = `SELECT count(*) FROM execution_pause WHERE account = $1 AND organisation = $2 AND open = 1`

	sqlLastChange = `SELECT coalesce((SELECT value FROM counter WHERE name = 'pause'), 0)`

	sqlPutStep = `INSERT INTO execution_event (execution, seq, kind, pause, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (execution, seq) DO NOTHING`

	sqlSteps = `SELECT execution, seq, kind, pause, at FROM execution_event WHERE execution = $1 AND seq > $2 ORDER BY seq`

	sqlCall = `SELECT execution, number, fence, idempotency, claimed_at, done_at, tool_error, result FROM upstream_call
		WHERE execution = $1 AND number = $2`

	sqlClaimCall = `INSERT INTO upstream_call (execution, number, fence, idempotency, claimed_at, done_at, tool_error, result)
		SELECT $1, $2, $3, $4, $5, 0, 0, NULL
		WHERE NOT EXISTS (SELECT 1 FROM execution WHERE key = $1 AND settled_at <> 0)
		ON CONFLICT (execution, number) DO UPDATE SET fence = excluded.fence, claimed_at = excluded.claimed_at
		WHERE upstream_call.done_at = 0 AND upstream_call.fence < excluded.fence`

	sqlFinishCall = `UPDATE upstream_call SET done_at = $4, tool_error = $5, result = $6
		WHERE execution = $1 AND number = $2 AND fence = $3 AND done_at = 0`

	sqlDropCall = `DELETE FROM upstream_call WHERE execution = $1 AND number = $2 AND fence = $3 AND done_at = 0`

	sqlDirect = `SELECT account, organisation, name, address, digest, at, done_at, tool_error, result FROM direct_call
		WHERE account = $1 AND organisation = $2 AND name = $3`

	sqlBeginDirect = `INSERT INTO direct_call (account, organisation, name, address, digest, at, done_at, tool_error, result)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, NULL) ON CONFLICT (account, organisation, name) DO NOTHING`

	sqlFinishDirect = `UPDATE direct_call SET done_at = $6, tool_error = $7, result = $8
		WHERE account = $1 AND organisation = $2 AND name = $3 AND address = $4 AND digest = $5 AND done_at = 0`

	sqlDropDirect = `DELETE FROM direct_call WHERE account = $1 AND organisation = $2 AND name = $3 AND done_at = 0`

	sqlPruneDirects = `DELETE FROM direct_call WHERE at < $1`

	auditColumns = `at, account, organisation, principal, name, via, action, session, execution, pause, address, digest, policy,
		outcome, latency, reason`

	sqlAudits = `SELECT id, ` + auditColumns + ` FROM gateway_audit`

	auditWidth = 16 // columns of a line
	auditBatch = 4  // lines that one statement writes; the driver's time for arguments grows with their square
)

// sqlPutAudit writes so many lines of the audit at once.
func sqlPutAudit(lines int) string {
	var text strings.Builder
	text.WriteString(`INSERT INTO gateway_audit (` + auditColumns + `) VALUES `)
	for i := range auditWidth * lines {
		switch {
		case i == 0:
			text.WriteString("(")
		case i%auditWidth == 0:
			text.WriteString("), (")
		default:
			text.WriteString(", ")
		}
		text.WriteString("$" + strconv.Itoa(i+1))
	}
	return text.String() + ")"
}
