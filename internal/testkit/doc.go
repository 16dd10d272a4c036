// Package testkit holds what tests of several packages share: waiting for a condition with a deadline, free ports,
// child processes whose output is kept and which never outlive the test, and the pinned peers that end-to-end tests
// run against (the real engine, a real MCP server). What is missing on the machine fails the test with the command
// that brings it; nothing is skipped.
package testkit
