// Package mcpserver is the gateway's MCP endpoint: legacy Streamable HTTP with durable sessions, and the modern stateless protocol, on
// one URL. What it serves comes from a host; sessions and messages are in the store, so that any replica serves any session.
package mcpserver
