// Package executions is the gateway's side of tool calls: it decides which way a call goes (refused, direct, or a workflow that waits
// for a person), holds callers for a bounded time, and tells each the one outcome of what it asked for.
package executions
