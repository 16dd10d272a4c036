package api

import (
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/views"
)

const (
	pathSessionExecution = "/api/mcp-sessions/{sid}/executions/{eid}"
	pathExecutions       = "/api/executions"
	pathApprovals        = pathAPI + "/approvals"
	pathSessions         = pathAPI + "/mcp-sessions"
)

var pageParams = []param{
	{name: "pageSize", about: "1 to 100; by default 100"},
	{name: "pageToken", about: "nextPageToken of the page before"},
}

func paged(own ...param) []param { return append(own, pageParams...) }

func executionRoutes() []*route {
	held := answer{status: http.StatusOK, of: of[executionAnswer]()}
	return []*route{
		{
			method: http.MethodGet, path: pathSessionExecution, id: "getSessionExecution", tag: "executions", least: auth.RoleViewer,
			summary: "A paused execution of an MCP session, as its client was told of it",
			ok:      answer{status: http.StatusOK, of: of[executionDetail]()}, fails: aboutExecution, read: getSessionExecution,
		},
		{
			method: http.MethodPost, path: pathSessionExecution + "/resume", id: "decideSessionExecution", tag: "executions",
			least: auth.RoleCollaborator, writes: true, summary: "Decide on a paused execution; the answer acknowledges and does not wait for the run",
			body: &body{of: of[decisionBody]()},
			ok:   answer{status: http.StatusOK, of: of[acknowledged]()}, fails: aboutDeciding, read: postSessionResume,
		},
		{
			method: http.MethodPost, path: pathExecutions, id: "execute", tag: "executions", least: auth.RoleCollaborator, writes: true,
			summary: "Call a tool, and wait until it is done, a person is asked, or the wait is over",
			params:  []param{waitParam}, body: &body{of: of[executeBody]()}, keyed: true, deadline: operationDeadline,
			ok: held, fails: aboutCalling, read: postExecution,
		},
		{
			method: http.MethodGet, path: pathExecutions + "/{id}", id: "getExecutionAnswer", tag: "executions", least: auth.RoleViewer,
			summary: "How an execution stands, in the words that a client of MCP reads; by its key, or a pause's id",
			ok:      held, fails: aboutExecution, read: getExecution,
		},
		{
			method: http.MethodPost, path: pathExecutions + "/{id}/resume", id: "resumeExecution", tag: "executions",
			least: auth.RoleCollaborator, writes: true, summary: "Decide on a paused execution and wait for what follows",
			params: []param{waitParam}, body: &body{of: of[decisionBody]()}, deadline: operationDeadline,
			ok: held, fails: joined(aboutDeciding, aboutUpstream), read: postExecutionResume,
		},
		{
			method: http.MethodPost, path: pathExecutions + "/{id}/cancel", id: "cancelExecution", tag: "executions",
			least: auth.RoleCollaborator, writes: true, summary: "Call an execution off; a call that has begun is not undone",
			body: &body{of: of[cancelBody](), optional: true},
			ok:   held, fails: aboutExecution, read: postExecutionCancel,
		},
		{
			method: http.MethodGet, path: pathAPI + "/executions", id: "listExecutions", tag: "executions", least: auth.RoleViewer,
			summary: "Executions that are kept, the latest first",
			params: paged(scopeParam, param{name: "state", enum: views.ExecutionStates()}, param{name: "session"},
				param{name: "tool", about: "the tool's address"}),
			ok: answer{status: http.StatusOK, of: of[executionList]()}, read: getExecutions,
		},
		{
			method: http.MethodGet, path: pathAPI + "/executions/paused", id: "countPaused", tag: "executions", least: auth.RoleViewer,
			summary: "How many pauses of yours wait for a person",
			ok:      answer{status: http.StatusOK, of: of[pausedCount]()}, fails: aboutEngine, read: getPausedCount,
		},
		{
			method: http.MethodGet, path: pathAPI + "/executions/{id}", id: "getExecution", tag: "executions", least: auth.RoleViewer,
			summary: "One execution with its arguments and all of its pauses; by its key, or a pause's id",
			ok:      answer{status: http.StatusOK, of: of[executionView]()}, fails: aboutExecution, read: getExecutionView,
		},
	}
}

func approvalRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathApprovals, id: "listApprovals", tag: "approvals", least: auth.RoleViewer,
			summary: "What waits for a person, the latest first; with state=closed what was decided or is over",
			params:  paged(scopeParam, param{name: "state", enum: []string{"open", "closed", "all"}}, param{name: "session"}, param{name: "execution", about: "its key"}),
			ok:      answer{status: http.StatusOK, of: of[approvalList]()}, read: getApprovals,
		},
		{
			method: http.MethodGet, path: pathApprovals + "/events", id: "streamApprovals", tag: "approvals", least: auth.RoleViewer,
			summary: "What waits, and each change of it as it happens; come back with Last-Event-ID to miss none",
			params:  []param{scopeParam}, deadline: streamLimit,
			ok:  answer{status: http.StatusOK, media: eventStream, about: "one event named snapshot, then events named approval; the id is that of the change"},
			raw: streamApprovals,
		},
		{
			method: http.MethodGet, path: pathApprovals + "/{id}", id: "getApproval", tag: "approvals", least: auth.RoleViewer,
			summary: "One question with everything that is decided on; by its id, or the execution's key for the one that waits",
			ok:      answer{status: http.StatusOK, of: of[approvalView]()}, fails: aboutExecution, read: getApproval,
		},
		{
			method: http.MethodPost, path: pathApprovals + "/{id}/decision", id: "decide", tag: "approvals", least: auth.RoleCollaborator, writes: true,
			summary: "Decide; the answer does not wait for the run", body: &body{of: of[decisionBody]()},
			ok: answer{status: http.StatusOK, of: of[approvalItem]()}, fails: aboutDeciding, read: postDecision,
		},
		{
			method: http.MethodGet, path: pathAPI + "/audit", id: "listAudit", tag: "approvals", least: auth.RoleViewer,
			summary: "Who did what, when, with which end; the latest first",
			params:  paged(scopeParam, param{name: "execution", about: "its key"}, param{name: "session"}, param{name: "tool", about: "the tool's address"}),
			ok:      answer{status: http.StatusOK, of: of[auditList]()}, read: getAudit,
		},
	}
}

func sessionRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathSessions, id: "listSessions", tag: "sessions", least: auth.RoleViewer,
			summary: "MCP sessions that are alive, the latest first", params: paged(scopeParam, param{name: "all", about: "true: those too that were terminated"}),
			ok: answer{status: http.StatusOK, of: of[sessionList]()}, read: getSessions,
		},
		{
			method: http.MethodGet, path: pathSessions + "/{id}", id: "getSession", tag: "sessions", least: auth.RoleViewer,
			summary: "One MCP session, with what keeps it awake where its workflow answers",
			ok:      answer{status: http.StatusOK, of: of[sessionView]()}, fails: []Code{CodeSessionNotFound, CodeUnreadable}, read: getSession,
		},
		{
			method: http.MethodDelete, path: pathSessions + "/{id}", id: "terminateSession", tag: "sessions", least: auth.RoleCollaborator, writes: true,
			summary: "End an MCP session for good; its executions go on",
			ok:      answer{status: http.StatusOK, of: of[terminated]()},
			fails:   joined([]Code{CodeSessionNotFound, CodeUnreadable, CodeNoWorker, CodeBusy, CodeStopping}, aboutTemporal), read: deleteSession,
		},
	}
}

func toolRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathAPI + "/tools", id: "searchTools", tag: "tools", least: auth.RoleViewer,
			summary: "Tools that fit the words, best first; without a query in the order of their addresses",
			params:  []param{{name: "query"}, {name: "limit", about: "1 to 100; by default 50"}},
			ok:      answer{status: http.StatusOK, of: of[toolList]()}, fails: aboutUpstream, read: getTools,
		},
		{
			method: http.MethodGet, path: pathAPI + "/tools/{address}", id: "getTool", tag: "tools", least: auth.RoleViewer,
			summary: "One tool with its schemas",
			ok:      answer{status: http.StatusOK, of: of[toolView]()}, fails: joined([]Code{CodeToolNotFound}, aboutUpstream), read: getTool,
		},
	}
}
