// Package simulator imitates the HTTP peers that Holdfast depends on: Engine, an OpenCode-like agent engine, Endpoint, a
// Streamable HTTP MCP server, TokenServer, an OAuth 2.0 authorization server, and OIDCProvider, an OpenID provider. All serve real
// HTTP on loopback, keep their port over a restart and take scripted faults while they run. Engine reproduces the measured behaviour
// of the real engine, its unkind parts included: a status that never notices a dead server, late failures that close healthy clients,
// event streams that are blind at first, boots that swallow requests. Tests, benchmarks and the demo of `holdfast dev` use it; the
// suite in package contract holds it to the real engine.
package simulator
