// Package fleet is the one workflow of an installation that keeps connections and workflows together: what is wanted and does
// not run is started, what runs and is not wanted any more is ended.
//
// History invariant: while everything is in order it holds one pending activity, which the server tries again at every
// interval, and adds no event.
package fleet
