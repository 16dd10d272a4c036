package simulator

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// call is one admitted request: the run that it reached and the directory that it is about.
type call struct {
	run       *run
	directory string
}

type handler func(w http.ResponseWriter, r *http.Request, c call)

func (e *Engine) routes() http.Handler {
	mux := http.NewServeMux()
	for route, serve := range map[Route]handler{
		RouteHealth:        e.getHealth,
		RouteStatus:        e.getStatus,
		RouteRegister:      e.postRegister,
		RouteConnect:       e.postConnect,
		RouteDisconnect:    e.postDisconnect,
		RouteDispose:       e.postDispose,
		RouteDisposeAll:    e.postDisposeAll,
		RouteConfig:        e.getConfig,
		RoutePatchConfig:   e.patchConfig,
		RouteGlobalConfig:  e.getGlobalConfig,
		RoutePatchGlobal:   e.patchGlobalConfig,
		RouteSessionStatus: e.getSessionStatus,
		RouteProvider:      e.getProvider,
		RouteModels:        e.getConfigProviders,
		RouteToolIDs:       e.getToolIDs,
		RouteProviderTools: e.getProviderTools,
		RouteResources:     e.getResources,
		RouteEvents:        e.getEvents,
		RouteGlobalEvents:  e.getGlobalEvents,
	} {
		mux.Handle(string(route), e.admit(route, serve))
	}
	// The real engine answers anything else with the page of its web client.
	mux.Handle("/", e.admit("other", func(w http.ResponseWriter, _ *http.Request, _ call) {
		w.Header().Set("Content-Type", "text/html;charset=UTF-8")
		_, _ = io.WriteString(w, "<!doctype html><html><head><title>OpenCode</title></head><body></body></html>")
	}))
	return mux
}

// admit does what comes before every route: a hung boot, authentication, the count, scripted faults.
func (e *Engine) admit(route Route, serve handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		run := e.current()
		if time.Now().Before(run.hungUntil) {
			hold(r)
			return
		}
		if !e.authorised(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="Secure Area"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		directory := r.URL.Query().Get("directory")
		if directory == "" {
			directory = r.Header.Get("X-Opencode-Directory")
		}
		directory = e.resolve(directory)
		e.calls.add(string(route), directory)
		if fault, ok := e.faults.take(string(route)); ok {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body)) // read ahead: only behind it a caller that leaves is noticed
			if fault.serve(w, r) {
				return
			}
		}
		if err := e.refusalOf(directory); err != nil && !route.global() {
			writeJSON(w, http.StatusBadRequest, refusal(directory, err))
			return
		}
		serve(w, r, call{run: run, directory: directory})
	})
}

// global reports whether a route concerns no directory.
func (r Route) global() bool { return strings.Contains(string(r), " /global/") }

// hold never answers; it returns when the caller has left or the engine is killed.
func hold(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the server notices a caller that leaves only behind the body
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

func (e *Engine) authorised(r *http.Request) bool {
	if e.options.Password == "" {
		return true
	}
	want := e.options.Username + ":" + e.options.Password
	if user, password, ok := r.BasicAuth(); ok {
		return user+":"+password == want
	}
	token, err := base64.StdEncoding.DecodeString(r.URL.Query().Get("auth_token"))
	return err == nil && string(token) == want
}

func (e *Engine) getHealth(w http.ResponseWriter, _ *http.Request, _ call) {
	writeJSON(w, http.StatusOK, map[string]any{"healthy": true, "version": EngineVersion})
}

func (e *Engine) getStatus(w http.ResponseWriter, _ *http.Request, c call) {
	writeJSON(w, http.StatusOK, e.boot(c.run, c.directory).statuses())
}

func (e *Engine) postRegister(w http.ResponseWriter, r *http.Request, c call) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	payload, problem := decodeRegistration(body)
	if problem != "" {
		writeBadRequest(w, problem)
		return
	}
	instance := e.boot(c.run, c.directory)
	e.record(Registration{Directory: c.directory, Name: payload.name, Config: payload.raw, At: time.Now()})
	instance.register(c.run, payload.name, payload.config)
	writeJSON(w, http.StatusOK, instance.statuses())
}

func (e *Engine) postConnect(w http.ResponseWriter, r *http.Request, c call) {
	name := r.PathValue("name")
	instance := e.boot(c.run, c.directory)
	if config, ok := instance.config(name); ok {
		config.enabled = true
		instance.register(c.run, name, config)
		writeJSON(w, http.StatusOK, true)
		return
	}
	writeUnknownServer(w, name)
}

func (e *Engine) postDisconnect(w http.ResponseWriter, r *http.Request, c call) {
	name := r.PathValue("name")
	if !e.boot(c.run, c.directory).disconnect(name) {
		writeUnknownServer(w, name)
		return
	}
	writeJSON(w, http.StatusOK, true)
}

func (e *Engine) postDispose(w http.ResponseWriter, _ *http.Request, c call) {
	e.dispose(c.run, c.directory)
	writeJSON(w, http.StatusOK, true)
}

func (e *Engine) postDisposeAll(w http.ResponseWriter, _ *http.Request, c call) {
	e.disposeAll(c.run)
	writeJSON(w, http.StatusOK, true)
}

func (e *Engine) getEvents(w http.ResponseWriter, r *http.Request, c call) {
	e.stream(w, r, e.boot(c.run, c.directory))
}

func (e *Engine) getGlobalEvents(w http.ResponseWriter, r *http.Request, _ call) {
	e.stream(w, r, nil)
}

func (e *Engine) getResources(w http.ResponseWriter, _ *http.Request, c call) {
	writeJSON(w, http.StatusOK, e.boot(c.run, c.directory).resources())
}

// readBody reads a JSON body; what is not JSON gets the real engine's unhelpful answers.
func readBody(w http.ResponseWriter, r *http.Request) (any, bool) {
	contentType := r.Header.Get("Content-Type")
	if !strings.HasPrefix(contentType, "application/json") {
		http.Error(w, "Unsupported content-type: "+contentType, http.StatusUnsupportedMediaType)
		return nil, false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
	decoder.UseNumber()
	var body any
	if decoder.Decode(&body) != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]any{"name": "UnknownError", "data": map[string]string{
			"message": "Unexpected server error. Check server logs for details.", "ref": "err_00000000",
		}})
		return nil, false
	}
	return body, true
}

func writeBadRequest(w http.ResponseWriter, message string) {
	writeJSON(w, http.StatusBadRequest, map[string]any{
		"name": "BadRequest", "data": map[string]string{"message": message, "kind": "Payload"},
	})
}

func writeUnknownServer(w http.ResponseWriter, name string) {
	writeJSON(w, http.StatusNotFound, map[string]string{
		"_tag": "McpServerNotFoundError", "name": name, "message": "MCP server not found: " + name,
	})
}
