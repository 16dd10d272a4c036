// Package residency decides whether a replica keeps the runtime of an idle MCP session or puts it to sleep. It is pure: a replica
// tells it how long nothing was asked, what goes on, and what the session's pauses need. Sleep never affects a pause or a result:
// the next request wakes the session at any replica.
package residency
