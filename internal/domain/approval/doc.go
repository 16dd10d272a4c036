// Package approval is the protocol by which a person decides on a tool call: pauses with a deadline, one terminal decision for each,
// and an outcome of the whole execution that is never confused with another. It is pure: time and identity come from its callers.
package approval
