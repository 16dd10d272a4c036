package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// settings is what an engine's configuration files say, but for MCP servers, and what follows from them.
type settings struct {
	global    document
	documents map[string]document // by directory
	refused   map[string]error    // directories whose file cannot be used
	plugins   []string            // ids of tools of plugins
	models    map[string]map[string]bool
}

// The provider and the models that an engine has unless SetModels says otherwise.
const (
	ProviderID  = "simulator"
	ToolModel   = "scripted"
	NoToolModel = "toolless"
)

func defaultSettings() settings {
	return settings{
		documents: make(map[string]document), refused: make(map[string]error),
		models: map[string]map[string]bool{ProviderID: {ToolModel: true, NoToolModel: false}},
	}
}

// builtInTools are the engine's own; those that it gives to models are fewer.
var builtInTools = []string{
	"invalid", "question", "bash", "read", "glob", "grep", "edit", "write", "task", "webfetch", "todowrite", "skill",
}

// SetConfiguration makes a text what a directory's opencode.json says of tools: permission, tools, agent and
// default_agent. One that the real engine cannot use makes this one refuse every question about the directory, too. It
// counts at once.
func (e *Engine) SetConfiguration(directory, text string) {
	directory = e.resolve(directory)
	parsed, err := parseDocument(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.settings.refused, directory)
	e.settings.documents[directory] = parsed
	if err != nil {
		e.settings.refused[directory] = err
	}
}

// SetGlobalConfiguration is SetConfiguration for the user's own opencode.json. With one that it cannot use the real engine
// does not start, so that is an error.
func (e *Engine) SetGlobalConfiguration(text string) error {
	parsed, err := parseDocument(text)
	if err != nil {
		return fmt.Errorf("set global configuration: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settings.global = parsed
	return nil
}

// SetPluginTools makes plugins bring these tools.
func (e *Engine) SetPluginTools(ids ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settings.plugins = slices.Clone(ids)
}

// SetModels replaces the models of a provider; the value tells whether a model can call tools. None removes the provider.
func (e *Engine) SetModels(provider string, models map[string]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	changed := maps.Clone(e.settings.models)
	delete(changed, provider)
	if len(models) > 0 {
		changed[provider] = maps.Clone(models)
	}
	e.settings.models = changed
}

// refusalOf is why the directory's configuration cannot be used.
func (e *Engine) refusalOf(directory string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.settings.refused[directory]
}

// document is the merged configuration of a directory.
func (e *Engine) document(directory string) document {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.settings.global.merge(e.settings.documents[directory])
}

func (e *Engine) toolIDs() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(builtInTools, e.settings.plugins)
}

// getProviderTools checks neither the provider nor the model, but that both are named.
func (e *Engine) getProviderTools(w http.ResponseWriter, r *http.Request, c call) {
	for _, key := range []string{"provider", "model"} {
		if r.URL.Query().Get(key) == "" {
			writeJSON(w, http.StatusBadRequest, map[string]any{
				"name": "BadRequest", "data": map[string]string{
					"message": "Missing key\n  at [\"" + key + "\"]", "kind": "Query",
				},
			})
			return
		}
	}
	e.boot(c.run, c.directory)
	tools := []any{}
	for _, id := range e.toolIDs() {
		tools = append(tools, map[string]any{"id": id, "description": id, "parameters": map[string]string{"type": "object"}})
	}
	writeJSON(w, http.StatusOK, tools)
}

// getConfigProviders lists the providers that the engine can use.
func (e *Engine) getConfigProviders(w http.ResponseWriter, _ *http.Request, c call) {
	e.boot(c.run, c.directory)
	writeJSON(w, http.StatusOK, map[string]any{"providers": e.providers(), "default": map[string]string{}})
}

// getProvider lists all providers that are known anywhere.
func (e *Engine) getProvider(w http.ResponseWriter, _ *http.Request, c call) {
	e.boot(c.run, c.directory)
	usable := e.providers()
	connected := make([]any, 0, len(usable))
	for _, provider := range usable {
		connected = append(connected, provider["id"])
	}
	elsewhere := provider("elsewhere", map[string]bool{"unconnected": true})
	writeJSON(w, http.StatusOK, map[string]any{
		"all": append(usable, elsewhere), "default": map[string]string{}, "connected": connected,
	})
}

func (e *Engine) providers() []map[string]any {
	e.mu.Lock()
	models := e.settings.models
	e.mu.Unlock()
	list := []map[string]any{}
	for _, id := range slices.Sorted(maps.Keys(models)) {
		list = append(list, provider(id, models[id]))
	}
	return list
}

func provider(id string, models map[string]bool) map[string]any {
	told := make(map[string]any, len(models))
	for name, tools := range models {
		told[name] = map[string]any{
			"id": name, "providerID": id, "name": name, "status": "active",
			"capabilities": map[string]any{"toolcall": tools, "reasoning": false, "attachment": false},
		}
	}
	return map[string]any{"id": id, "name": id, "source": "custom", "env": []string{}, "options": struct{}{}, "models": told}
}
