package simulator

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// The names under which an engine's configuration knows the scripted model; see [Model.Configuration].
const (
	ModelProvider = "scripted"
	ModelID       = "caller"
)

// ModelOptions is the script of a Model.
type ModelOptions struct {
	Tool      string          // what each turn calls, by the name that the engine offers it under: SERVER_TOOL
	Arguments string          // of each call, a JSON object; empty = {}
	Calls     int             // of a turn, each asked for in an answer of its own; 0 = 1
	Think     time.Duration   // wait before each answer
	Before    func(ModelStep) // called before each answer of a turn; the answer waits for it
	// Next chooses what is called next, in place of Tool, Arguments and Calls, from the results of the turn's calls so far; an empty tool
	// ends the turn. nil: each call is the same.
	Next          func(results []string) (tool, arguments string)
	ListenAddress string // host:port; empty = any free loopback port
}

// ModelStep is one answer of a turn that is about to be given.
type ModelStep struct {
	Turn int  // from 0, in the order of their first requests
	Step int  // from 0
	Call bool // whether it asks for a tool call; the last one of a turn does not
}

// Model is a language model behind the chat completions API of OpenAI, as an engine's provider: each turn calls one tool
// a few times and ends. It works by itself, from what the requests say; titles and the like are answered with a word. All
// methods are safe for concurrent use.
type Model struct {
	server server
	calls  atomic.Uint64 // makes ids of calls unique

	mu     sync.Mutex
	script ModelOptions
	turns  []*ModelTurn
	byCall map[string]int // the turn that a call belongs to
}

// ModelTurn is what a turn has looked like from the model's side.
type ModelTurn struct {
	Prompt  string
	Offered []string // names of the tools that the first request offered, sorted
	Calls   []ModelCall
	Began   time.Time
	Ended   time.Time // when the last answer was given; zero before
}

// ModelCall is a tool call that the model has asked for.
type ModelCall struct {
	ID       string
	Tool     string
	Asked    time.Time
	Answered bool
	Result   string // the text that came back: the tool's, or that of an error; the API does not tell them apart
}

// NewModel starts a model; Close ends it.
func NewModel(options ModelOptions) (*Model, error) {
	if options.Arguments == "" {
		options.Arguments = "{}"
	}
	if options.ListenAddress == "" {
		options.ListenAddress = "127.0.0.1:0"
	}
	options.Calls = max(options.Calls, 1)
	m := &Model{script: options, byCall: make(map[string]int)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list", "data": []any{map[string]string{"id": ModelID, "object": "model"}},
		})
	})
	m.server.addr, m.server.handler = options.ListenAddress, mux
	if err := m.server.start(context.Background()); err != nil {
		return nil, fmt.Errorf("start model: %w", err)
	}
	return m, nil
}

// URL is the base address of the API.
func (m *Model) URL() string { return "http://" + m.server.address() + "/v1" }

// Close ends the model. Closing twice is harmless.
func (m *Model) Close() { m.server.stop(func() {}) }

// Configuration is what an engine's opencode.json must hold to have the model, for every purpose.
func (m *Model) Configuration() map[string]any {
	name := ModelProvider + "/" + ModelID
	return map[string]any{
		"model": name, "small_model": name,
		"provider": map[string]any{ModelProvider: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
			"options": map[string]any{"baseURL": m.URL(), "apiKey": "none"},
			"models": map[string]any{ModelID: map[string]any{
				"name": "Caller", "tool_call": true, "limit": map[string]int{"context": 1 << 20, "output": 1 << 12},
			}},
		}},
	}
}

// SetCalls changes how many calls the turns to come make.
func (m *Model) SetCalls(n int) { m.change(func(s *ModelOptions) { s.Calls = max(n, 1) }) }

// SetThink changes the wait before each answer.
func (m *Model) SetThink(d time.Duration) { m.change(func(s *ModelOptions) { s.Think = d }) }

// SetBefore changes what is called before each answer of a turn; nil = nothing.
func (m *Model) SetBefore(before func(ModelStep)) {
	m.change(func(s *ModelOptions) { s.Before = before })
}

// Turns returns the turns so far, oldest first.
func (m *Model) Turns() []ModelTurn {
	m.mu.Lock()
	defer m.mu.Unlock()
	turns := make([]ModelTurn, 0, len(m.turns))
	for _, turn := range m.turns {
		copied := *turn
		copied.Calls = append([]ModelCall(nil), turn.Calls...)
		turns = append(turns, copied)
	}
	return turns
}

func (m *Model) change(edit func(*ModelOptions)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(&m.script)
}

// current copies the script: an answer must not see it change half way.
func (m *Model) current() ModelOptions {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.script
}

func (m *Model) newCallID() string { return "call_" + strconv.FormatUint(m.calls.Add(1), 10) }
