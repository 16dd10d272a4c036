// Package engineapi is the client of an OpenCode engine: the MCP routes, session states and the global event stream.
//
// Activities use it to register, inspect and watch connections. It knows the routes and the shapes of their answers,
// not what they mean for a connection. Two things it cannot hide: "connected" is the engine's memory of a handshake,
// and a registration whose caller gave up goes on in the engine. Faults are [*httpclient.Error] values.
package engineapi
