// Package tool holds the activities of an execution: they call an upstream tool, find out what became of a call whose worker was lost,
// and write down what an execution has come to.
//
// A call is claimed in the store right before the upstream is called, and finished there before Temporal is answered. So whoever comes
// next knows whether the call may have run.
package tool
