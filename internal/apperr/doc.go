// Package apperr carries failures across the boundary between activities and workflows.
//
// Go types do not cross it: a failure travels as the type and the details of a Temporal application error. Retryability
// is decided here, where the error is made, and never by lists in a retry policy.
package apperr
