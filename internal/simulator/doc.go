// Package simulator imitates the two HTTP peers that Holdfast depends on: Engine, an OpenCode-like agent engine, and
// Endpoint, a Streamable HTTP MCP server. Both serve real HTTP on loopback, keep their port over a restart and take
// scripted faults while they run. Engine reproduces the measured behaviour of the real engine, its unkind parts
// included: a status that never notices a dead server, late failures that close healthy clients, event streams that
// are blind at first, boots that swallow requests. Tests, benchmarks and the demo of `holdfast dev` use it; the suite
// in package contract holds it to the real engine.
package simulator
