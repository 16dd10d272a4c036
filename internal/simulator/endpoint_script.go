package simulator

import (
	"net/http"
	"slices"
)

// The keys of Endpoint.Inject and Endpoint.Count that are not names of JSON-RPC methods.
const (
	AnyRequest   = "*"      // every request, unless a more specific fault is scripted
	GetStream    = "GET"    // the standing stream
	DeleteMethod = "DELETE" // the end of a session
)

// Rotate makes token the only accepted bearer from now on; empty = none asked.
func (e *Endpoint) Rotate(token string) { e.change(func(s *EndpointOptions) { s.Token = token }) }

// SetAuthorize makes decide judge the bearer of each request from now on; nil leaves it to the fixed token.
func (e *Endpoint) SetAuthorize(decide func(token string) bool) {
	e.change(func(s *EndpointOptions) { s.Authorize = decide })
}

// SetTools replaces the listed tools without telling anyone; see NotifyToolsChanged.
func (e *Endpoint) SetTools(names ...string) {
	e.change(func(s *EndpointOptions) { s.Tools = slices.Clone(names) })
}

// SetPageSize lists n tools on a page; 0 = all on one.
func (e *Endpoint) SetPageSize(n int) { e.change(func(s *EndpointOptions) { s.PageSize = n }) }

// SetResources replaces the listed resources; none = later sessions lack the capability.
func (e *Endpoint) SetResources(uris ...string) {
	e.change(func(s *EndpointOptions) { s.Resources = slices.Clone(uris) })
}

// SetSSE switches between event streams and plain JSON answers.
func (e *Endpoint) SetSSE(on bool) { e.change(func(s *EndpointOptions) { s.SSE = on }) }

// SetLostStatus chooses the HTTP status for an unknown session.
func (e *Endpoint) SetLostStatus(status int) {
	e.change(func(s *EndpointOptions) { s.LostStatus = status })
}

// ForgetSessions drops all sessions while the server goes on.
func (e *Endpoint) ForgetSessions() { e.sessions.forget() }

// NotifyToolsChanged sends notifications/tools/list_changed on every standing stream and returns how many there were.
func (e *Endpoint) NotifyToolsChanged() int {
	return e.sessions.broadcast([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
}

// Inject scripts a fault for the next n requests of a key (Always = until ClearFaults): a JSON-RPC method, GetStream,
// DeleteMethod or AnyRequest. Faults of one key are played in the order of their injection.
func (e *Endpoint) Inject(key string, n int, fault Fault) { e.faults.add(key, n, fault) }

// ClearFaults ends every scripted fault.
func (e *Endpoint) ClearFaults() { e.faults.clear() }

// Count returns the requests of a key so far; AnyRequest counts all.
func (e *Endpoint) Count(key string) int {
	if key == AnyRequest {
		return e.counter.everything("")
	}
	return e.counter.total(key)
}

// Sessions returns the number of open sessions.
func (e *Endpoint) Sessions() int { return e.sessions.open() }

// Streams returns the number of standing GET streams.
func (e *Endpoint) Streams() int { return e.sessions.streams() }

// LastHeader returns the headers of the latest request, nil before the first.
func (e *Endpoint) LastHeader() http.Header {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lastHeader.Clone()
}

func (e *Endpoint) change(edit func(*EndpointOptions)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	edit(&e.script)
}

// current copies the script: handlers must not see it change half way. Setters replace slices, never write into them.
func (e *Endpoint) current() EndpointOptions {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.script
}
