package simulator

import (
	"encoding/json"
	"net/http"
)

const configSchema = "https://opencode.ai/config.json"

func (e *Engine) getConfig(w http.ResponseWriter, _ *http.Request, c call) {
	e.boot(c.run, c.directory)
	config := map[string]any{
		"$schema": configSchema, "command": struct{}{}, "plugin": []string{}, "username": "unknown",
		"mode": struct{}{}, "agent": struct{}{},
	}
	if servers := e.configuration(c.directory); len(servers) > 0 {
		config["mcp"] = servers
	}
	for _, m := range e.document(c.directory).told() {
		if m.name != "mcp" {
			config[m.name] = m.value
		}
	}
	writeJSON(w, http.StatusOK, config)
}

// patchConfig keeps nothing: the point of the route is that it disposes the instance, whatever the body says.
func (e *Engine) patchConfig(w http.ResponseWriter, r *http.Request, c call) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	writeJSON(w, http.StatusOK, body)
	flush(w)
	e.dispose(c.run, c.directory)
}

func (e *Engine) getGlobalConfig(w http.ResponseWriter, _ *http.Request, _ call) {
	e.mu.Lock()
	told := append(document{{"$schema", configSchema}}, e.settings.global...)
	e.mu.Unlock()
	writeJSON(w, http.StatusOK, told)
}

// patchGlobalConfig disposes all instances, but only when the configuration became another one by it.
func (e *Engine) patchGlobalConfig(w http.ResponseWriter, r *http.Request, c call) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	changed := e.patchGlobal(body)
	writeJSON(w, http.StatusOK, body)
	flush(w)
	if changed {
		e.disposeAll(c.run)
	}
}

func (e *Engine) patchGlobal(body any) (changed bool) {
	encoded, err := json.Marshal(body)
	if err != nil || string(encoded) == "{}" {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	changed = e.patched != string(encoded)
	e.patched = string(encoded)
	return changed
}

func (e *Engine) getSessionStatus(w http.ResponseWriter, _ *http.Request, c call) {
	e.boot(c.run, c.directory)
	c.run.mu.Lock()
	busy := c.run.busy[c.directory]
	c.run.mu.Unlock()
	sessions := map[string]any{}
	if busy {
		sessions[busySession] = map[string]string{"type": "busy"}
	}
	writeJSON(w, http.StatusOK, sessions)
}

func (e *Engine) getToolIDs(w http.ResponseWriter, _ *http.Request, c call) {
	e.boot(c.run, c.directory)
	// Some are listed that no model is given.
	writeJSON(w, http.StatusOK, append(e.toolIDs(), "websearch", "apply_patch"))
}
