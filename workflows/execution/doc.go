// Package execution is the workflow of one gated tool call: it pauses, is decided, expires or is called off, calls the upstream and
// holds the outcome for the retention period. It never makes a call twice that may not be made twice.
package execution
