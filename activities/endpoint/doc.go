// Package endpoint holds the activities that ask an MCP endpoint itself.
package endpoint
