// Package engine holds the activities that touch an agent engine: register a server, inspect a connection, disconnect,
// watch an engine's events. The workflows know it by the names and types of contract.go.
package engine
