package store

// Statements of the sessions of MCP clients.
const (
	sessionColumns = `id, account, organisation, mode, resource, role, origin, client, protocol, created_at, last_seen_at,
		terminated_at, state`

	sqlSessions = `SELECT ` + sessionColumns + ` FROM mcp_session`

	sqlSession = sqlSessions + ` WHERE id = $1`

	sqlSessionAlive = `SELECT count(*) FROM mcp_session WHERE id = $1 AND terminated_at = 0`

	sqlPutSession = `INSERT INTO mcp_session (` + sessionColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, $12) ON CONFLICT (id) DO NOTHING`

	sqlPutSessionState = `UPDATE mcp_session SET protocol = $2, state = $3 WHERE id = $1`

	sqlTouchSession = `UPDATE mcp_session SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2 AND terminated_at = 0`

	sqlTerminateSession = `UPDATE mcp_session SET terminated_at = $2, state = NULL WHERE id = $1 AND terminated_at = 0`

	streamColumns = `session, id, requests, opened_at, owner, held_until, done_at, acked_at`

	sqlStreams = `SELECT ` + streamColumns + ` FROM mcp_stream`

	sqlStream = sqlStreams + ` WHERE session = $1 AND id = $2`

	sqlStreamMessages = `SELECT messages FROM mcp_stream_messages WHERE session = $1 AND stream = $2`

	sqlRunningStreams = sqlStreams + ` WHERE session = $1 AND done_at = 0 AND running > 0 ORDER BY opened_at, id`

	sqlUndeliveredStreams = sqlStreams + ` WHERE session = $1 AND done_at <> 0 AND acked_at = 0 ORDER BY done_at, id`

	sqlLapsedStreams = sqlStreams + ` WHERE done_at = 0 AND running > 0 AND held_until < $1 ORDER BY held_until LIMIT $2`

	sqlRunningRequests = `SELECT coalesce(sum(running), 0) FROM mcp_stream WHERE session = $1 AND done_at = 0`

	sqlOpenStream = `INSERT INTO mcp_stream (session, id, requests, running, opened_at, owner, held_until, done_at, acked_at, last_seq,
			events, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0) ON CONFLICT (session, id) DO NOTHING`

	sqlPutStreamMessages = `INSERT INTO mcp_stream_messages (session, stream, messages) VALUES ($1, $2, $3)`

	sqlCountEvent = `UPDATE mcp_stream SET last_seq = last_seq + 1, events = events + 1, bytes = bytes + $3
		WHERE session = $1 AND id = $2 AND done_at = 0 RETURNING last_seq, events, bytes`

	sqlPutEvent = `INSERT INTO mcp_event (session, stream, seq, bytes, response, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)`

	sqlEventSizes = `SELECT seq, bytes FROM mcp_event WHERE session = $1 AND stream = $2 AND seq < $3 ORDER BY seq`

	sqlTrimEvents = `DELETE FROM mcp_event WHERE session = $1 AND stream = $2 AND seq <= $3`

	sqlCountTrimmed = `UPDATE mcp_stream SET events = $3, bytes = $4 WHERE session = $1 AND id = $2`

	sqlEvents = `SELECT session, stream, seq, response, at, data FROM mcp_event
		WHERE session = $1 AND stream = $2 AND seq > $3 ORDER BY seq LIMIT $4`

	sqlSetRequests = `UPDATE mcp_stream SET requests = $3, running = $4, done_at = $5 WHERE session = $1 AND id = $2`

	sqlRenewStreams = `UPDATE mcp_stream SET held_until = $2 WHERE owner = $1 AND done_at = 0`

	sqlReleaseStreams = `UPDATE mcp_stream SET owner = '', held_until = 0 WHERE owner = $1 AND done_at = 0 AND (session = $2 OR $2 = '')`

	sqlClaimStream = `UPDATE mcp_stream SET owner = $3, held_until = $4
		WHERE session = $1 AND id = $2 AND done_at = 0 AND held_until < $5`

	sqlAckStream = `UPDATE mcp_stream SET requests = '[]', running = 0, acked_at = $3, events = 0, bytes = 0,
			done_at = CASE WHEN done_at = 0 AND running > 0 THEN $3 ELSE done_at END
		WHERE session = $1 AND id = $2`

	sqlDeleteStreamMessages = `DELETE FROM mcp_stream_messages WHERE session = $1 AND stream = $2`

	sqlDeleteStreamEvents = `DELETE FROM mcp_event WHERE session = $1 AND stream = $2`

	// The rows of a session that has ended.
	sqlForgetStreams  = `DELETE FROM mcp_stream WHERE session = $1`
	sqlForgetMessages = `DELETE FROM mcp_stream_messages WHERE session = $1`
	sqlForgetEvents   = `DELETE FROM mcp_event WHERE session = $1`
	sqlForgetInbox    = `DELETE FROM mcp_inbox WHERE session = $1`

	// A stream without requests goes on as long as its session does.
	sqlOldStreams = `SELECT session, id FROM mcp_stream
		WHERE opened_at < $1 AND held_until < $1 AND done_at < $1 AND (running > 0 OR done_at <> 0) ORDER BY opened_at LIMIT $2`

	sqlDeleteStream = `DELETE FROM mcp_stream WHERE session = $1 AND id = $2`

	sqlPutInbox = `INSERT INTO mcp_inbox (session, seq, replica, kind, at, message) VALUES ($1, $2, $3, $4, $5, $6)`

	sqlInbox = `SELECT session, seq, replica, kind, at, message FROM mcp_inbox WHERE replica = $1 ORDER BY seq LIMIT $2`

	sqlCountInbox = `SELECT count(*) FROM mcp_inbox WHERE replica = $1`

	sqlTakeInbox = `DELETE FROM mcp_inbox WHERE replica = $1 AND seq <= $2`

	sqlPruneInbox = `DELETE FROM mcp_inbox WHERE at < $1`
)
