package simulator

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// chatRequest is the part of a chat completion request that a script needs.
type chatRequest struct {
	Stream   bool          `json:"stream"`
	Messages []chatMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
}

// chatAnswer is what the model says: a text, or a call.
type chatAnswer struct {
	text   string
	callID string
	tool   string
	args   string
}

func (m *Model) complete(w http.ResponseWriter, r *http.Request) {
	var request chatRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16*bodyLimit))
	if decoder.Decode(&request) != nil || len(request.Messages) == 0 {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]string{
			"message": "messages are missing", "type": "invalid_request_error",
		}})
		return
	}
	script := m.current()
	if len(request.Tools) == 0 {
		// No turn of an agent: a title, or a summary. It takes no step of a script.
		reply(w, request.Stream, chatAnswer{text: "Title"})
		return
	}
	offered := request.offered()
	turn, step := m.enter(request, offered)
	calls := step < script.Calls && slices.Contains(offered, script.Tool)
	if script.Next != nil {
		script.Tool, script.Arguments = script.Next(m.results(turn))
		calls = slices.Contains(offered, script.Tool)
	}
	if script.Before != nil {
		script.Before(ModelStep{Turn: turn, Step: step, Call: calls})
	}
	if pause(r.Context(), script.Think) != nil {
		return
	}
	if !calls {
		m.finish(turn)
		reply(w, request.Stream, chatAnswer{text: "Done."})
		return
	}
	reply(w, request.Stream, chatAnswer{callID: m.call(turn, script.Tool), tool: script.Tool, args: script.Arguments})
}

func (r chatRequest) offered() []string {
	names := make([]string, 0, len(r.Tools))
	for _, tool := range r.Tools {
		names = append(names, tool.Function.Name)
	}
	slices.Sort(names)
	return names
}

// enter finds the turn that a request goes on with, by the results that it ends with, and notes those; a request that
// ends otherwise begins a turn.
func (m *Model) enter(request chatRequest, offered []string) (turn, step int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	turn = -1
	last := len(request.Messages)
	for last > 0 && request.Messages[last-1].Role == "tool" {
		last--
		if found, ok := m.byCall[request.Messages[last].ToolCallID]; ok {
			turn = found
			m.turns[turn].note(request.Messages[last])
		}
	}
	if turn >= 0 {
		return turn, len(m.turns[turn].Calls)
	}
	m.turns = append(m.turns, &ModelTurn{Prompt: request.prompt(), Offered: offered, Began: time.Now()})
	return len(m.turns) - 1, 0
}

func (r chatRequest) prompt() string {
	for _, message := range slices.Backward(r.Messages) {
		if message.Role == "user" {
			return message.text()
		}
	}
	return ""
}

func (t *ModelTurn) note(result chatMessage) {
	for i := range t.Calls {
		if t.Calls[i].ID == result.ToolCallID {
			t.Calls[i].Answered, t.Calls[i].Result = true, result.text()
		}
	}
}

func (m *Model) call(turn int, tool string) string {
	id := m.newCallID()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byCall[id] = turn
	m.turns[turn].Calls = append(m.turns[turn].Calls, ModelCall{ID: id, Tool: tool, Asked: time.Now()})
	return id
}

func (m *Model) results(turn int) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]string, 0, len(m.turns[turn].Calls))
	for _, call := range m.turns[turn].Calls {
		results = append(results, call.Result)
	}
	return results
}

func (m *Model) finish(turn int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns[turn].Ended = time.Now()
}

// text is the content of a message, which is a string or a list of parts.
func (c chatMessage) text() string {
	var text string
	if json.Unmarshal(c.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(c.Content, &parts) != nil {
		return ""
	}
	for _, part := range parts {
		text += part.Text
	}
	return text
}
