// Package httpclient is the HTTP client behind every call that Holdfast makes to an engine.
//
// It gives what net/http leaves to the caller: one deadline for a whole call with its body, a cap on the
// body's size, no redirects, and further tries on new connections for calls that may be repeated.
// Every fault is an [*Error] with a [Kind] to decide on and the cause chain kept for [Chain]; its text never
// holds a response body, a URL query or a credential.
package httpclient
