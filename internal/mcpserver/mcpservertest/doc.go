// Package mcpservertest is a host for tests of the MCP endpoint: tools that answer at once, late, at length, with progress, or with a
// question to the client, and a gateway of several replicas on one store.
package mcpservertest
