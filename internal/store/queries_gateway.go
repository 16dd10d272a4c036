package store

import "database/sql"

// gatewayStatements are the ones that run for each request of an MCP client, and while calls are held.
type gatewayStatements struct {
	stream, events, runningRequests, countInbox *sql.Stmt // on the reading pool
	execution, pause, steps, lastChange, call   *sql.Stmt

	touchSession, countEvent, putEvent                                 *sql.Stmt // on the writing connection
	putStep, claimCall, beginDirect, finishDirect, putAudit, putAudits *sql.Stmt
}

func (s *gatewayStatements) list(read, write *sql.DB) []prepared {
	return []prepared{
		{&s.stream, read, sqlStream},
		{&s.events, read, sqlEvents},
		{&s.runningRequests, read, sqlRunningRequests},
		{&s.countInbox, read, sqlCountInbox},
		{&s.execution, read, sqlExecution},
		{&s.pause, read, sqlPause},
		{&s.steps, read, sqlSteps},
		{&s.lastChange, read, sqlLastChange},
		{&s.call, read, sqlCall},
		{&s.touchSession, write, sqlTouchSession},
		{&s.countEvent, write, sqlCountEvent},
		{&s.putEvent, write, sqlPutEvent},
		{&s.putStep, write, sqlPutStep},
		{&s.claimCall, write, sqlClaimCall},
		{&s.beginDirect, write, sqlBeginDirect},
		{&s.finishDirect, write, sqlFinishDirect},
		{&s.putAudit, write, sqlPutAudit(1)},
		{&s.putAudits, write, sqlPutAudit(auditBatch)},
	}
}
