// Package upstream is a real MCP server over real HTTP, for tests, benchmarks and the demo: what a gateway stands in front of. Its tools
// read, write, ask their caller, take their time, answer much and fail, on request. It counts every effect, by idempotency key too, so
// that "never twice" can be checked from outside: [Server.Counts], or GET /counts where another process hosts it.
package upstream
