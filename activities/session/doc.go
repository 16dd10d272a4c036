// Package session holds the activity that ends an MCP session in the store.
package session
