// Package views holds what the API and the command line show alike of calls, approvals, the audit, sessions and tools.
//
// A type here is the part that both have, with the JSON names of both; each edge embeds it and adds what is its own. A new field is
// shown by both, and is in the API's document.
package views
