package api

import (
	"encoding/json"
	"net/http"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	pathMCP        = "/workspace/{id}/mcp"
	pathServer     = "/workspace/{id}/mcp/{name}"
	pathAPI        = "/api/v1"
	pathConnection = pathAPI + "/connections/{workspace}/{name}"
	pathWorkspace  = pathAPI + "/workspaces/{id}"
	pathShared     = pathAPI + "/accounts/{account}/connections"
)

var (
	inDirectory = param{name: "directory", about: "one of the workspace's directories, where it has several"}
	forModel    = []param{
		{name: "provider", about: "with model: tell whether this model may use the tools"},
		{name: "model", about: "with provider"},
	}
	probeParam = param{name: "probe", about: "1 or true: ask the MCP endpoint itself, whatever the engine says of it"}
)

// Errors that whole groups of routes have in common.
var (
	aboutWorkspace  = []Code{CodeWorkspaceNotFound, CodeUnreadable}
	aboutDirectory  = append([]Code{CodeDirectoryAmbiguous, CodeInvalidPayload, CodeInvalidName}, aboutWorkspace...)
	aboutTemporal   = []Code{CodeTemporalUnavailable}
	aboutWorkflow   = []Code{CodeTemporalUnavailable, CodeNoWorker, CodeBusy}
	aboutConnection = append(append([]Code{CodeConnectionNotFound}, aboutDirectory...), aboutWorkflow...)
)

func joined(groups ...[]Code) []Code {
	var all []Code
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// routes is the table of all routes.
func routes() []*route {
	var all []*route
	for _, group := range [][]*route{
		serverRoutes(), connectionRoutes(), connectionOperations(), workspaceRoutes(), accountRoutes(), tokenRoutes(), systemRoutes(),
		executionRoutes(), approvalRoutes(), sessionRoutes(), toolRoutes(),
	} {
		all = append(all, group...)
	}
	return all
}

// serverRoutes are those of the OpenWork server.
func serverRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathServer + "/health", id: "getHealth", tag: "mcp", least: auth.RoleViewer,
			summary: "The whole health document of one MCP server; 200 also when it is not well",
			params:  append([]param{probeParam, inDirectory}, forModel...),
			ok:      answer{status: http.StatusOK, of: of[diagnosis.Document]()}, fails: joined(aboutDirectory, aboutWorkflow), read: getHealth,
		},
		{
			method: http.MethodPost, path: pathServer + "/reconcile", id: "reconcile", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "Store what is wanted, where a config is given, and deliver it; a config that breaks a rule is not stored, and the health says which",
			params:  []param{inDirectory}, body: &body{of: of[reconcileBody](), optional: true},
			ok:    answer{status: http.StatusOK, of: of[diagnosis.Document]()},
			fails: joined([]Code{CodeWorkspaceIDMismatch, CodeIntentChanged}, aboutDirectory, aboutWorkflow), operate: postReconcile,
		},
		{
			method: http.MethodPost, path: pathServer + "/engine-refresh", id: "engineRefresh", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "Drop the engine's entry and deliver it anew, with each step's latency",
			params:  []param{inDirectory}, body: &body{of: of[refreshBody](), optional: true},
			ok:    answer{status: http.StatusOK, of: of[refreshed]()},
			fails: joined([]Code{CodeWorkspaceIDMismatch}, aboutDirectory, aboutWorkflow), operate: postRefresh,
		},
		{
			method: http.MethodDelete, path: pathServer, id: "removeServer", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "Take an MCP server out of all directories of a workspace, and out of the engine",
			ok:      answer{status: http.StatusOK, of: of[mcpList]()}, fails: joined(aboutDirectory, aboutWorkflow), operate: deleteMCP,
		},
		{
			method: http.MethodGet, path: pathMCP, id: "listServers", tag: "mcp", least: auth.RoleViewer,
			summary: "The MCP servers of a workspace, and whether its engine has them", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[mcpList]()}, fails: joined(aboutWorkspace, aboutTemporal), read: getMCPs,
		},
		{
			method: http.MethodPost, path: pathMCP, id: "addServer", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "Add an MCP server to a workspace, or change it", params: []param{inDirectory}, body: &body{of: of[mcpBody]()},
			ok:    answer{status: http.StatusOK, of: of[mcpList]()},
			fails: joined([]Code{CodeReservedName, CodeIntentChanged}, aboutDirectory, aboutTemporal), operate: postMCP,
		},
		{
			method: http.MethodPost, path: pathServer + "/enabled", id: "setEnabled", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "Switch an MCP server on or off in all directories of a workspace; no repair that runs undoes it",
			body:    &body{of: of[enabledBody]()},
			ok:      answer{status: http.StatusOK, of: of[mcpList]()}, fails: joined([]Code{CodeMCPNotFound}, aboutDirectory, aboutTemporal), operate: postEnabled,
		},
		{
			method: http.MethodPost, path: "/workspace/{id}/engine/reload", id: "reloadEngine", tag: "mcp", least: auth.RoleCollaborator, writes: true,
			summary: "End the engine's instance of a directory; every connection of it is delivered anew", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[reloaded]()},
			fails: joined([]Code{CodeReloadTimeout, CodeReloadFailed, CodeEngineUnreachable, CodeEngineUnset}, aboutDirectory,
				aboutTemporal), operate: postReload,
		},
	}
}

func connectionRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathAPI + "/connections", id: "listConnections", tag: "connections", least: auth.RoleViewer,
			summary: "Running connections as they were published last, the latest started first; needs no worker",
			params: []param{
				{name: "workspace"},
				{name: "name"},
				{name: "engine"},
				{name: "state", enum: stateNames()},
				{name: "failureCode", about: "such as mcp_endpoint_unreachable"},
				{name: "pageSize", about: "1 to 100; by default 100"},
				{name: "pageToken", about: "nextPageToken of the page before"},
			},
			ok:    answer{status: http.StatusOK, of: of[connectionList]()},
			fails: joined([]Code{CodeInvalidPayload}, aboutTemporal), read: getConnections,
		},
		{
			method: http.MethodGet, path: pathConnection, id: "getConnection", tag: "connections", least: auth.RoleViewer,
			summary: "One connection: what is wanted of it and what was published last; needs no worker", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[connectionView]()}, fails: aboutConnection, read: getConnection,
		},
		{
			method: http.MethodGet, path: pathConnection + "/transitions", id: "getTransitions", tag: "connections", least: auth.RoleViewer,
			summary: "Every retained change of state, oldest first", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[transitionList]()}, fails: aboutConnection, read: getTransitions,
		},
		{
			method: http.MethodGet, path: pathConnection + "/projection", id: "getProjection", tag: "connections", least: auth.RoleViewer,
			summary: "The connection as model execution may use it: ready, receipted and verified, or nothing", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[connection.Projection]()}, fails: aboutConnection, read: getProjection,
		},
		{
			method: http.MethodGet, path: pathConnection + "/health", id: "getConnectionHealth", tag: "connections", least: auth.RoleViewer,
			summary: "The whole health document", params: append([]param{probeParam, inDirectory}, forModel...),
			ok: answer{status: http.StatusOK, of: of[diagnosis.Document]()}, fails: aboutConnection, read: getConnectionHealth,
		},
		{
			method: http.MethodGet, path: pathConnection + "/events", id: "streamEvents", tag: "connections", least: auth.RoleViewer,
			summary: "Changes of state as they happen; come back with Last-Event-ID to miss none", params: []param{inDirectory},
			deadline: streamLimit,
			ok:       answer{status: http.StatusOK, media: eventStream, about: "events named transition; the id is the sequence"},
			fails:    aboutConnection, raw: streamEvents,
		},
	}
}

func connectionOperations() []*route {
	operation := func(verb, summary string, body *body, of answer, operate func(*API, *call) (*job, error)) *route {
		return &route{
			method: http.MethodPost, path: pathConnection + "/" + verb, id: "connection" + title(verb), tag: "connections",
			least: auth.RoleCollaborator, writes: true, summary: summary, params: []param{inDirectory}, body: body,
			ok: of, fails: aboutConnection, operate: operate,
		}
	}
	document := answer{status: http.StatusOK, of: of[diagnosis.Document]()}
	reason := &body{of: of[reasonBody](), optional: true}
	all := []*route{
		operation("probe", "Look and repair: one full cycle", &body{of: of[probeBody](), optional: true}, document, postProbe),
		operation("reconcile", "Store what is wanted, where a config is given, and deliver it", &body{of: of[reconcileBody](), optional: true}, document, postReconcile),
		operation("refresh", "Drop the engine's entry and deliver it anew", &body{of: of[refreshBody](), optional: true},
			answer{status: http.StatusOK, of: of[refreshed]()}, postRefresh),
		operation("mark-stale", "Distrust what was delivered: register from scratch", &body{of: of[staleBody](), optional: true},
			answer{status: http.StatusOK, of: of[told]()}, postMarkStale),
		operation("enable", "Switch it on in all directories of the workspace", reason, answer{status: http.StatusOK, of: of[toldList]()}, postEnable),
		operation("disable", "Switch it off in all directories of the workspace; no repair that runs undoes it", reason,
			answer{status: http.StatusOK, of: of[toldList]()}, postDisable),
		operation("remove", "Take it out of all directories of the workspace, and out of the engine", reason,
			answer{status: http.StatusOK, of: of[toldList]()}, postRemove),
	}
	all[1].fails = joined(all[1].fails, []Code{CodeWorkspaceIDMismatch, CodeIntentChanged})
	all[2].fails = joined(all[2].fails, []Code{CodeWorkspaceIDMismatch})
	return all
}

func workspaceRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathAPI + "/workspaces", id: "listWorkspaces", tag: "workspaces", least: auth.RoleViewer,
			summary: "Every directory of every workspace", params: []param{{name: "account"}, {name: "engine"}},
			ok: answer{status: http.StatusOK, of: of[workspaceList]()}, fails: []Code{CodeUnreadable}, read: getWorkspaces,
		},
		{
			method: http.MethodGet, path: pathWorkspace, id: "getWorkspace", tag: "workspaces", least: auth.RoleViewer,
			summary: "The directories of one workspace",
			ok:      answer{status: http.StatusOK, of: of[workspaceList]()}, fails: aboutWorkspace, read: getWorkspace,
		},
		{
			method: http.MethodPut, path: pathWorkspace, id: "putWorkspace", tag: "workspaces", least: auth.RoleOwner, writes: true,
			summary: "Make a directory of a workspace known, or give it another engine or account", body: &body{of: of[workspaceBody]()},
			ok: answer{status: http.StatusOK, of: of[workspaceChange]()}, fails: joined([]Code{CodeInvalidName}, aboutWorkspace, aboutTemporal), read: putWorkspace,
		},
		{
			method: http.MethodDelete, path: pathWorkspace, id: "deleteWorkspace", tag: "workspaces", least: auth.RoleOwner, writes: true,
			summary: "Take a workspace away, or one directory of it, with its connections", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[workspaceChange]()}, fails: joined(aboutDirectory, aboutWorkflow), operate: deleteWorkspace,
		},
		{
			method: http.MethodGet, path: pathWorkspace + "/projection", id: "getWorkspaceProjection", tag: "workspaces", least: auth.RoleViewer,
			summary: "The workspace's connections that model execution may use", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[projectionList]()}, fails: joined(aboutDirectory, aboutWorkflow), read: getWorkspaceProjection,
		},
		{
			method: http.MethodGet, path: pathWorkspace + "/projection/opencode", id: "getOpenCodeConfig", tag: "workspaces", least: auth.RoleViewer,
			summary: "The same as a fragment of OpenCode's configuration, without secrets", params: []param{inDirectory},
			ok: answer{status: http.StatusOK, of: of[openCodeConfig]()}, fails: joined(aboutDirectory, aboutWorkflow), read: getOpenCode,
		},
	}
}

func accountRoutes() []*route {
	change := answer{status: http.StatusOK, of: of[sharedChange]()}
	return []*route{
		{
			method: http.MethodGet, path: pathShared, id: "listShared", tag: "accounts", least: auth.RoleViewer,
			summary: "The MCP servers that all workspaces of an account share",
			ok:      answer{status: http.StatusOK, of: of[sharedList]()}, fails: []Code{CodeUnreadable}, read: getShared,
		},
		{
			method: http.MethodPut, path: pathShared + "/{name}", id: "putShared", tag: "accounts", least: auth.RoleCollaborator, writes: true,
			summary: "Share an MCP server with all workspaces of an account, or change it", body: &body{of: of[configBody]()},
			ok: change, fails: joined([]Code{CodeInvalidName, CodeIntentChanged, CodeUnreadable}, aboutTemporal), operate: putShared,
		},
		{
			method: http.MethodDelete, path: pathShared + "/{name}", id: "deleteShared", tag: "accounts", least: auth.RoleCollaborator, writes: true,
			summary: "Take a shared MCP server away from all workspaces of an account",
			ok:      change, fails: joined([]Code{CodeInvalidName, CodeConnectionNotFound}, aboutTemporal), operate: deleteShared,
		},
		{
			method: http.MethodPost, path: pathShared + "/{name}/enable", id: "enableShared", tag: "accounts", least: auth.RoleCollaborator, writes: true,
			summary: "Switch a shared MCP server on", body: &body{of: of[reasonBody](), optional: true},
			ok: change, fails: joined([]Code{CodeInvalidName, CodeConnectionNotFound}, aboutTemporal), operate: postSharedEnable,
		},
		{
			method: http.MethodPost, path: pathShared + "/{name}/disable", id: "disableShared", tag: "accounts", least: auth.RoleCollaborator, writes: true,
			summary: "Switch a shared MCP server off in every workspace; no repair that runs undoes it", body: &body{of: of[reasonBody](), optional: true},
			ok: change, fails: joined([]Code{CodeInvalidName, CodeConnectionNotFound}, aboutTemporal), operate: postSharedDisable,
		},
	}
}

func tokenRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: pathAPI + "/tokens", id: "listTokens", tag: "tokens", least: auth.RoleOwner,
			summary: "Every API token, without its secret", ok: answer{status: http.StatusOK, of: of[tokenList]()}, read: getTokens,
		},
		{
			method: http.MethodPost, path: pathAPI + "/tokens", id: "createToken", tag: "tokens", least: auth.RoleOwner, writes: true,
			summary: "Make an API token; its secret is told this one time", body: &body{of: of[tokenBody]()},
			ok: answer{status: http.StatusCreated, of: of[tokenMade]()}, read: postToken,
		},
		{
			method: http.MethodDelete, path: pathAPI + "/tokens/{id}", id: "revokeToken", tag: "tokens", least: auth.RoleOwner, writes: true,
			summary: "End an API token for good", ok: answer{status: http.StatusOK, of: of[revoked]()}, fails: []Code{CodeTokenNotFound}, read: deleteToken,
		},
		{
			method: http.MethodGet, path: pathAPI + "/requests/{id}", id: "getRequest", tag: "requests", least: auth.RoleViewer,
			summary: "The result of a request that was answered with 202; kept for 24 hours",
			ok:      answer{status: http.StatusOK, of: of[requestView]()}, fails: []Code{CodeRequestNotFound, CodeUnreadable}, read: getRequest,
		},
	}
}

func systemRoutes() []*route {
	return []*route{
		{
			method: http.MethodGet, path: "/openapi.json", id: "getOpenAPI", tag: "system", summary: "This document",
			ok: answer{status: http.StatusOK, of: of[json.RawMessage]()}, read: getDocument,
		},
		{
			method: http.MethodGet, path: "/healthz", id: "getLiveness", tag: "system", summary: "The process lives",
			ok: answer{status: http.StatusOK, of: of[liveness]()}, read: getLive,
		},
		{
			method: http.MethodGet, path: "/readyz", id: "getReadiness", tag: "system", summary: "The store and Temporal answer",
			ok:    answer{status: http.StatusOK, of: of[readiness]()},
			fails: []Code{CodeStoreUnavailable, CodeTemporalUnavailable, CodeStopping}, read: getReady,
		},
		{
			method: http.MethodGet, path: "/metrics", id: "getMetrics", tag: "system", least: auth.RoleViewer, summary: "Metrics in the Prometheus format",
			ok: answer{status: http.StatusOK, media: "text/plain", about: "metrics"}, raw: serveMetrics,
		},
	}
}
