// Package contract is the behaviour of an agent engine that Holdfast depends on, as a suite of tests over its HTTP API.
// The simulator and the real engine both pass it; a new engine version that does not pass it needs a look at what
// Holdfast relies on. The suite speaks plain HTTP, so that it also judges Holdfast's own client.
package contract
