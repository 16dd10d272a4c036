// Package desired holds what a connection should be: the desired config of an
// MCP server with its metadata, how foreign input is brought to one form, the
// ordered rules it must pass, and the revision that changes when it does.
//
// It is pure and has no keys: the MAC behind a revision comes from the caller.
// The HTTP and command-line layers normalise and validate with it, the store
// keeps its types, and the connection's worker delivers what EngineConfig gives.
package desired
