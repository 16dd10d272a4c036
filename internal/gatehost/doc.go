// Package gatehost is what the gateway's MCP endpoint serves: four tools by which a client finds the tools of all sources, calls them,
// goes on with calls that wait, and reads how that is done.
package gatehost
