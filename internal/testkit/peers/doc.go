// Package peers gives tests of activities what activities talk to: a store with keysets of its own, a simulated engine and
// a scripted endpoint over real HTTP, a clock that a test moves, and an environment that runs one try of an activity.
// Nothing in it needs Temporal.
package peers
