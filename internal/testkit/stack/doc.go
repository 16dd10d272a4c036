// Package stack puts Holdfast together for tests that claim the real thing: a real Temporal dev server, the worker's own
// graph, a store on disk. Tests bring the engines and endpoints.
package stack
