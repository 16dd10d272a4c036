// Package connection is the durable loop that keeps one MCP server registered in one agent engine.
//
// Callers use contract.go (names, identifiers, requests, answers) and client.go; nothing else of the package is theirs.
// The loop reads as a story in workflow.go; repair.go delivers, inspect.go looks, rollover.go goes on as a new run.
//
// History invariant: a connection at rest holds one pending activity, the inspection, which the server retries. It adds
// no event and no workflow task until a decision is due. A repair costs about 30 events.
package connection
