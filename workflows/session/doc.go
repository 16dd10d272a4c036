// Package session is the workflow of one MCP session: it holds the leases of the session's paused executions, its retention and its
// absolute limit. Asleep it holds one timer and nothing else. The session's row in the store says who it belongs to.
package session
