package simulator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Route names a route of the engine: the key of Inject and Calls.
type Route string

// The engine's routes.
const (
	RouteHealth        Route = "GET /global/health"
	RouteStatus        Route = "GET /mcp"
	RouteRegister      Route = "POST /mcp"
	RouteConnect       Route = "POST /mcp/{name}/connect"
	RouteDisconnect    Route = "POST /mcp/{name}/disconnect"
	RouteDispose       Route = "POST /instance/dispose"
	RouteDisposeAll    Route = "POST /global/dispose"
	RouteConfig        Route = "GET /config"
	RoutePatchConfig   Route = "PATCH /config"
	RouteGlobalConfig  Route = "GET /global/config"
	RoutePatchGlobal   Route = "PATCH /global/config"
	RouteSessionStatus Route = "GET /session/status"
	RouteProvider      Route = "GET /provider"
	RouteModels        Route = "GET /config/providers"
	RouteToolIDs       Route = "GET /experimental/tool/ids"
	RouteProviderTools Route = "GET /experimental/tool"
	RouteResources     Route = "GET /experimental/resource"
	RouteEvents        Route = "GET /event"
	RouteGlobalEvents  Route = "GET /global/event"
)

// SetBusy makes a directory list one busy session, or none. A dispose aborts it.
func (e *Engine) SetBusy(directory string, busy bool) {
	run, directory := e.current(), e.resolve(directory)
	run.mu.Lock()
	defer run.mu.Unlock()
	if busy {
		run.busy[directory] = true
		return
	}
	delete(run.busy, directory)
}

// Dispose drops a directory's instance with everything registered in it, as POST /instance/dispose does.
func (e *Engine) Dispose(directory string) {
	e.dispose(e.current(), e.resolve(directory))
}

// DisposeAll drops every instance, as POST /global/dispose does.
func (e *Engine) DisposeAll() { e.disposeAll(e.current()) }

// BlockEvents withholds all events but server.connected and server.heartbeat; they are lost, not delayed.
func (e *Engine) BlockEvents(block bool) { e.blocked.Store(block) }

// EmitNoise sends n events of the kind that an agent's turn sends by the dozen.
func (e *Engine) EmitNoise(directory string, n int) {
	run, directory := e.current(), e.resolve(directory)
	for range n {
		e.emit(run, directory, "message.part.updated", map[string]any{"part": map[string]string{"type": "text"}})
	}
}

// SetHungBoot changes EngineOptions.HungBoot for the starts to come.
func (e *Engine) SetHungBoot(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hungBoot = d
}

// Configure defines a server in a directory's own configuration, as an opencode.json does: it is connected by the
// next boot of the instance. A nil config removes it.
func (e *Engine) Configure(directory, name string, config map[string]any) {
	directory = e.resolve(directory)
	if config != nil {
		config = asJSON(config)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	servers := maps.Clone(e.configured[directory])
	if servers == nil {
		servers = make(map[string]map[string]any)
	}
	delete(servers, name)
	if config != nil {
		servers[name] = config
	}
	e.configured[directory] = servers // a fresh map: readers hold the old one
}

// asJSON is the config as a file would give it: numbers of one kind, nothing shared with the caller.
func asJSON(config map[string]any) map[string]any {
	decoder := json.NewDecoder(strings.NewReader(compact(config)))
	decoder.UseNumber()
	var decoded map[string]any
	if decoder.Decode(&decoded) != nil {
		return map[string]any{}
	}
	return decoded
}

func (e *Engine) configuration(directory string) map[string]map[string]any {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.configured[directory]
}

// Inject scripts a fault for the next n requests of a route; Always = until ClearFaults.
func (e *Engine) Inject(route Route, n int, fault Fault) { e.faults.add(string(route), n, fault) }

// ClearFaults ends every scripted fault.
func (e *Engine) ClearFaults() { e.faults.clear() }

// Calls returns the requests of a route for a directory so far, all directories when it is empty. Restarts do not
// reset it. Routes without a directory count under the engine's working directory.
func (e *Engine) Calls(route Route, directory string) int {
	if directory == "" {
		return e.calls.total(string(route))
	}
	return e.calls.of(string(route), e.resolve(directory))
}

// AllCalls returns the requests of every route for a directory, of the whole engine when it is empty.
func (e *Engine) AllCalls(directory string) int {
	if directory == "" {
		return e.calls.everything("")
	}
	return e.calls.everything(e.resolve(directory))
}

// Registrations returns every well-formed POST /mcp of a directory so far, oldest first; all when it is empty.
func (e *Engine) Registrations(directory string) []Registration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if directory == "" {
		return slices.Clone(e.registrations)
	}
	directory = e.resolve(directory)
	var found []Registration
	for _, each := range e.registrations {
		if each.Directory == directory {
			found = append(found, each)
		}
	}
	return found
}

func (e *Engine) record(registration Registration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.registrations = append(e.registrations, registration)
}

// Streams returns the number of open event streams, /event and /global/event together.
func (e *Engine) Streams() int { return e.current().hub.size() }
