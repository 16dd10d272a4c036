package simulator

import (
	"cmp"
	"slices"
	"sync"
)

// busySession is the id of the session that SetBusy shows.
const busySession = "ses_simulated00000000000000"

// serverStatus is an entry of GET /mcp.
type serverStatus struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

var (
	statusConnected = serverStatus{Status: "connected"}
	statusDisabled  = serverStatus{Status: "disabled"}
	statusNeedsAuth = serverStatus{Status: "needs_auth"}
)

// instance is what the engine holds for one directory.
type instance struct {
	engine    *Engine
	directory string

	booting sync.Once

	mu       sync.Mutex
	disposed bool
	servers  map[string]*registered
}

type registered struct {
	config serverConfig
	status serverStatus
	client *upstream // nil unless connected
}

// boot returns the directory's instance, making it first where there is none; every request does so.
func (e *Engine) boot(run *run, directory string) *instance {
	run.mu.Lock()
	found := run.instances[directory]
	if found == nil {
		found = &instance{engine: e, directory: directory, servers: make(map[string]*registered)}
		run.instances[directory] = found
	}
	run.mu.Unlock()
	found.booting.Do(func() {
		for range e.options.BootNoise {
			e.emit(run, directory, "plugin.added", map[string]string{"id": "simulated"})
		}
		for name, raw := range e.configuration(directory) {
			if config, problem := decodeServer(raw); problem == "" {
				found.register(run, name, config)
			}
		}
	})
	return found
}

// dispose boots the instance where there is none, as the real engine does, and drops it.
func (e *Engine) dispose(run *run, directory string) {
	gone := e.boot(run, directory)
	run.mu.Lock()
	if run.instances[directory] == gone {
		delete(run.instances, directory)
	}
	busy := run.busy[directory]
	delete(run.busy, directory)
	run.mu.Unlock()
	if !gone.close() {
		return // someone else was faster and has announced it
	}
	if busy {
		e.publish(run, gone, envelope{Directory: directory, Project: "global", Payload: newEvent("session.error",
			map[string]any{"sessionID": busySession, "error": map[string]any{
				"name": "MessageAbortedError", "data": map[string]string{"message": "Aborted"},
			}})}, false)
	}
	e.publish(run, gone, envelope{
		Directory: directory, Project: "global",
		Payload: newEvent("server.instance.disposed", map[string]string{"directory": directory}),
	}, true)
}

func (e *Engine) disposeAll(run *run) {
	run.mu.Lock()
	directories := make([]string, 0, len(run.instances))
	for directory := range run.instances {
		directories = append(directories, directory)
	}
	run.mu.Unlock()
	slices.Sort(directories)
	for _, directory := range directories {
		e.dispose(run, directory)
	}
	e.publish(run, nil, envelope{Directory: "global", Payload: newEvent("global.disposed", nil)}, false)
}

// close drops the clients without telling their servers; false when it was done before.
func (i *instance) close() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.disposed {
		return false
	}
	i.disposed = true
	for _, server := range i.servers {
		server.client.close()
		server.client = nil
	}
	return true
}

func (i *instance) statuses() map[string]serverStatus {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make(map[string]serverStatus, len(i.servers))
	for name, server := range i.servers {
		all[name] = server.status
	}
	return all
}

func (i *instance) config(name string) (serverConfig, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	server, ok := i.servers[name]
	if !ok {
		return serverConfig{}, false
	}
	return server.config, true
}

// register connects to a server and enters the result. Its caller may have left long ago: whatever the attempt ends
// with closes the client that is there by then, be it newer and healthy. While it runs a new name reads as disabled
// and a known one as before.
func (i *instance) register(run *run, name string, config serverConfig) {
	i.mu.Lock()
	server := i.servers[name]
	if server == nil {
		server = &registered{status: statusDisabled}
		i.servers[name] = server
	}
	server.config = config
	i.mu.Unlock()

	client, status := i.dial(run, name, config)

	i.mu.Lock()
	defer i.mu.Unlock()
	server.client.close()
	server.client, server.status = client, status
	if i.disposed { // the entry is out of sight, yet the caller's answer still says what became of the attempt
		server.client.close()
		server.client = nil
	}
}

func (i *instance) dial(run *run, name string, config serverConfig) (*upstream, serverStatus) {
	switch {
	case !config.enabled:
		return nil, statusDisabled
	case config.local:
		return nil, serverStatus{Status: "failed", Error: "the simulator has no local servers"}
	}
	client, failure := connect(run.life, run.transport, name, config)
	switch {
	case failure.needsAuth:
		return nil, statusNeedsAuth
	case failure.text != "":
		return nil, serverStatus{Status: "failed", Error: failure.text}
	}
	client.watch(func() {
		i.engine.emit(run, i.directory, "mcp.tools.changed", map[string]string{"server": name})
	})
	return client, statusConnected
}

// disconnect is idempotent; false for a name that is not registered.
func (i *instance) disconnect(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	server, ok := i.servers[name]
	if !ok {
		return false
	}
	server.client.close()
	server.client, server.status = nil, statusDisabled
	return true
}

// connected returns the client of a name; nil when its tools are not offered.
func (i *instance) connected(name string) *upstream {
	i.mu.Lock()
	defer i.mu.Unlock()
	if server := i.servers[name]; server != nil {
		return server.client
	}
	return nil
}

// resources asks every connected server that has resources for them; one that fails is left out.
func (i *instance) resources() map[string]map[string]any {
	type source struct {
		name   string
		client *upstream
	}
	var sources []source
	i.mu.Lock()
	for name, server := range i.servers {
		if server.client != nil && server.client.hasResources() {
			sources = append(sources, source{name, server.client})
		}
	}
	i.mu.Unlock()
	slices.SortFunc(sources, func(a, b source) int { return cmp.Compare(a.name, b.name) })
	all := make(map[string]map[string]any)
	for _, each := range sources {
		for _, resource := range each.client.listResources() {
			resource["client"] = each.name
			uri, _ := resource["uri"].(string)
			all[each.name+":"+uri] = resource
		}
	}
	return all
}
