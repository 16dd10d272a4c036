// Package tokensource gets the tokens with which engines and probes call MCP endpoints: from the environment, from a file,
// or by an OAuth 2.0 grant. [Minter] keeps the current one of each credential in the store, for all processes: one mint at
// a time, a new token only after its endpoint has taken it, and a rotated refresh token kept before anything else is done.
// The mint activity uses it.
//
// Every failure is an [*Error] with the health record to show. No error, record or text form holds a token or a secret.
package tokensource
