// Package text shortens what is shown to people.
//
// Workflow code uses it: the result depends on the arguments alone, and what was recorded with one release must come out the same with
// the next.
package text
