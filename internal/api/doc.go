// Package api is the gateway's REST side: the routes of the OpenWork server under /workspace, and everything else under
// /api/v1. One table holds every route with what it needs, takes and answers; the mux, the checks before each handler and the
// OpenAPI document are all made from it, so none of them can say something else than the others.
//
// A handler changes nothing by itself: it writes what is wanted to the store and asks the connection's own workflow. It keeps
// nothing of value either: killed at any moment, the same request under the same key is answered by another process.
package api
