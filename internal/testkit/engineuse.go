package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// turnWithin bounds a request of an [EngineUser]: a turn goes on for as long as its model has calls to ask for.
const turnWithin = 5 * time.Minute

// toolCompleted is the engine's word for a tool call that went well.
const toolCompleted = "completed"

// EngineUser works with a real engine in one directory, as a person's client does: it makes sessions, sends prompts and
// reads what became of the tool calls.
type EngineUser struct {
	tb        testing.TB
	base      string
	directory string
	client    *http.Client
}

// Turn is one prompt with everything that followed from it.
type Turn struct {
	Took  time.Duration // from the prompt to the last word
	Calls []ToolCall
}

// ToolCall is one tool call as the engine keeps it.
type ToolCall struct {
	Tool   string
	Status string // completed, error, running, pending
	Text   string // the output, or the error
	Start  time.Time
	End    time.Time
}

// OK reports whether the call went well.
func (c ToolCall) OK() bool { return c.Status == toolCompleted }

// NewEngineUser makes a user of the engine at a base address. Its connections end with the test.
func NewEngineUser(tb testing.TB, base, directory string) *EngineUser {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	tb.Cleanup(transport.CloseIdleConnections)
	return &EngineUser{
		tb: tb, base: base, directory: directory,
		client: &http.Client{Transport: transport, Timeout: turnWithin},
	}
}

// Session makes a session and returns its id.
func (u *EngineUser) Session(ctx context.Context) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	if err := u.call(ctx, http.MethodPost, "/session", struct{}{}, &made); err != nil {
		return "", fmt.Errorf("make session: %w", err)
	}
	return made.ID, nil
}

// Prompt begins a turn and returns when the engine has taken it.
func (u *EngineUser) Prompt(ctx context.Context, session, text string) error {
	if err := u.call(ctx, http.MethodPost, "/session/"+session+"/prompt_async", promptOf(text), nil); err != nil {
		return fmt.Errorf("send prompt: %w", err)
	}
	return nil
}

// Turn sends a prompt and waits until the turn is over.
func (u *EngineUser) Turn(ctx context.Context, session, text string) (Turn, error) {
	began := time.Now()
	var last engineMessage
	if err := u.call(ctx, http.MethodPost, "/session/"+session+"/message", promptOf(text), &last); err != nil {
		return Turn{}, fmt.Errorf("take turn: %w", err)
	}
	turn := Turn{Took: time.Since(began)}
	messages, err := u.messages(ctx, session)
	if err != nil {
		return turn, err
	}
	for _, message := range messages {
		if message.Info.ParentID == last.Info.ParentID {
			turn.Calls = append(turn.Calls, message.calls()...)
		}
	}
	return turn, nil
}

// Calls reads every tool call of a session, oldest first.
func (u *EngineUser) Calls(ctx context.Context, session string) ([]ToolCall, error) {
	messages, err := u.messages(ctx, session)
	if err != nil {
		return nil, err
	}
	var calls []ToolCall
	for _, message := range messages {
		calls = append(calls, message.calls()...)
	}
	return calls, nil
}

func (u *EngineUser) messages(ctx context.Context, session string) ([]engineMessage, error) {
	var messages []engineMessage
	if err := u.call(ctx, http.MethodGet, "/session/"+session+"/message", nil, &messages); err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return messages, nil
}

func promptOf(text string) map[string]any {
	return map[string]any{"parts": []any{map[string]string{"type": "text", "text": text}}}
}

// engineMessage is the part of a message that tells of tool calls.
type engineMessage struct {
	Info struct {
		ParentID string `json:"parentID"`
	} `json:"info"`
	Parts []struct {
		Type  string `json:"type"`
		Tool  string `json:"tool"`
		State struct {
			Status string `json:"status"`
			Output string `json:"output"`
			Error  string `json:"error"`
			Time   struct {
				Start int64 `json:"start"`
				End   int64 `json:"end"`
			} `json:"time"`
		} `json:"state"`
	} `json:"parts"`
}

func (m engineMessage) calls() []ToolCall {
	var calls []ToolCall
	for _, part := range m.Parts {
		if part.Type != "tool" {
			continue
		}
		call := ToolCall{
			Tool: part.Tool, Status: part.State.Status, Text: part.State.Output,
			Start: time.UnixMilli(part.State.Time.Start), End: time.UnixMilli(part.State.Time.End),
		}
		if !call.OK() {
			call.Text = part.State.Error
		}
		calls = append(calls, call)
	}
	return calls
}

// call sends a request about the directory and decodes the answer, unless out is nil.
func (u *EngineUser) call(ctx context.Context, method, path string, body, out any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	address := u.base + path + "?" + url.Values{"directory": {u.directory}}.Encode()
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := u.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the engine answered %d: %.300s", response.StatusCode, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
