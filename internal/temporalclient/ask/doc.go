// Package ask holds what clients of workflows have in common: queries that are sent again, and what an error of Temporal's means.
//
// Each client still says in words of its own what cannot be found or does not answer.
package ask
