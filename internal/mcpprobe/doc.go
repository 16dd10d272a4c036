// Package mcpprobe asks a remote MCP endpoint itself whether it works: handshake, all pages of tools/list, goodbye. It
// sends what the engine sends (same URL, same headers), since the engine goes on saying "connected" about an endpoint
// that is dead, revoked or has forgotten its sessions.
//
// The delivery and inspection activities use it. One probe may keep its session as a canary for the next one: an
// endpoint that has forgotten the canary has forgotten the engine's session too.
//
// Every wait and every byte read is bounded; [Bound] tells the longest a probe can take.
package mcpprobe
