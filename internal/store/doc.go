// Package store keeps what must outlive every process: engines, workspaces, desired configs, intents, minted tokens, the tokens and
// requests of the REST API, the runtime row of each connection, and of the gateway its sessions, their messages, executions, calls and
// the audit. It is a SQLite file that several processes may use at once; secrets are sealed with the AEAD keyset, bound to their table,
// column and row, and to what decides where they are sent or whose they are. A row that cannot be read is an error that names it, never
// an empty value.
//
// All SQL is in queries*.go and migrations, with numbered placeholders that PostgreSQL takes too, so that a second database is a
// second set of migrations and one more way to open.
//
// Activities, the gateway and the command line use it. Times are kept to the microsecond and come back in UTC.
package store
