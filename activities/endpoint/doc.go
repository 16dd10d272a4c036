// Package endpoint holds the activities that ask an MCP endpoint itself: whether it works, and whether it takes a token that
// was minted for it.
package endpoint
