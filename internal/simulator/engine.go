package simulator

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// EngineVersion is the version that the simulated engine reports: the one whose behaviour it imitates.
const EngineVersion = "1.18.33"

// EngineOptions configures an Engine. The zero value is a well-behaved engine without a password.
type EngineOptions struct {
	Username string // basic auth user; empty = opencode
	Password string // empty = no authentication

	WorkDir       string        // base of relative directories and of requests without one; empty = the process's
	Heartbeat     time.Duration // of event streams; 0 = 10 s
	BlindWindow   time.Duration // events so soon after server.connected are lost; 0 = 30 ms, negative = none
	BootNoise     int           // plugin.added events per booted instance; 0 = 3, negative = none
	HungBoot      time.Duration // so long after each start, requests are accepted and never answered
	ListenAddress string        // host:port; empty = any free loopback port
}

// Engine is an OpenCode-like engine over real HTTP. All methods are safe for concurrent use.
type Engine struct {
	options EngineOptions
	server  server
	faults  faults
	calls   counter
	blocked atomic.Bool

	lifecycle sync.Mutex // serialises Kill and Restart; never taken by a request, since Kill waits for those
	running   bool

	mu            sync.Mutex
	run           *run // of the current or last start
	hungBoot      time.Duration
	configured    map[string]map[string]map[string]any // directory, name, config: what an opencode.json says
	settings      settings
	patched       string // last body of PATCH /global/config
	registrations []Registration
}

// run is what a process start owns: it is thrown away by Kill, as memory is.
type run struct {
	hub       *hub
	transport *http.Transport
	hungUntil time.Time

	life context.Context //nolint:containedctx // a registration outlives its request and ends with the process only
	kill context.CancelFunc

	mu        sync.Mutex
	instances map[string]*instance
	busy      map[string]bool
}

// Registration is one well-formed POST /mcp as the engine received it.
type Registration struct {
	Directory string
	Name      string
	Config    map[string]any // as sent, headers with their secrets included; numbers are json.Number
	At        time.Time
}

// NewEngine starts an engine; Close ends it.
func NewEngine(options EngineOptions) (*Engine, error) {
	if options.Username == "" {
		options.Username = "opencode"
	}
	if options.ListenAddress == "" {
		options.ListenAddress = "127.0.0.1:0"
	}
	options.Heartbeat = orDefault(options.Heartbeat, 10*time.Second)
	options.BlindWindow = orDefault(options.BlindWindow, 30*time.Millisecond)
	options.BootNoise = orDefault(options.BootNoise, 3)
	if options.WorkDir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find engine's working directory: %w", err)
		}
		options.WorkDir = dir
	}
	e := &Engine{
		options: options, hungBoot: options.HungBoot,
		configured: make(map[string]map[string]map[string]any), settings: defaultSettings(),
	}
	e.server.addr = options.ListenAddress
	e.server.handler = e.routes()
	if err := e.Restart(); err != nil {
		return nil, err
	}
	return e, nil
}

func orDefault[T ~int | ~int64](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return max(value, 0)
}

// BaseURL is the engine's address without a trailing slash, the same after a restart.
func (e *Engine) BaseURL() string { return "http://" + e.server.address() }

// Kill ends the engine as SIGKILL does: connections break off, everything registered is forgotten, upstream sessions
// are left open. Killing a dead engine is harmless.
func (e *Engine) Kill() {
	e.lifecycle.Lock()
	defer e.lifecycle.Unlock()
	e.killLocked()
}

func (e *Engine) killLocked() {
	if !e.running {
		return
	}
	e.running = false
	run := e.current()
	e.server.stop(run.kill)
	run.transport.CloseIdleConnections()
}

// Restart starts the engine on its port, killing it first where it runs.
func (e *Engine) Restart() error {
	e.lifecycle.Lock()
	defer e.lifecycle.Unlock()
	e.killLocked()
	life, kill := context.WithCancel(context.Background())
	e.begin(&run{
		hub:       newHub(e.options.BlindWindow),
		transport: &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second},
		life:      life, kill: kill,
		instances: make(map[string]*instance), busy: make(map[string]bool),
	})
	if err := e.server.start(life); err != nil {
		kill()
		return fmt.Errorf("start engine: %w", err)
	}
	e.running = true
	return nil
}

// begin makes a run the current one, before the first request can arrive.
func (e *Engine) begin(next *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next.hungUntil = time.Now().Add(e.hungBoot)
	e.run = next
}

// Close ends the engine. Closing twice is harmless.
func (e *Engine) Close() { e.Kill() }

func (e *Engine) current() *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run
}

// resolve turns a directory as given by a caller into the one that names an instance: trailing slashes, symlinks and
// relative paths lead to the same instance; a directory need not exist.
func (e *Engine) resolve(directory string) string {
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(e.options.WorkDir, directory)
	}
	if target, err := filepath.EvalSymlinks(directory); err == nil {
		return target
	}
	return filepath.Clean(directory)
}
