// Package engine is the durable watch of one agent engine: as long as the engine has connections, one activity reads its
// event stream and tells the connections that lost their entry. It only makes repairs fast; polling finds the same facts.
//
// History invariant: a quiet engine holds one pending activity and adds no event.
package engine
