package payload

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// ToolResult is a tool's result as it came, taken apart as far as we need it.
type ToolResult struct {
	Meta              json.RawMessage   `json:"_meta"`
	Content           []json.RawMessage `json:"content"`
	StructuredContent json.RawMessage   `json:"structuredContent"`
}

// Completion is a call that the tool has answered.
type Completion struct {
	Key    string // empty: answered directly
	Result ToolResult
	// ToolError says that the answer is an error of the tool's own.
	ToolError bool
	// Note is what the caller should know beside the answer.
	Note string
}

type completed struct {
	Status      string          `json:"status"`
	ExecutionID string          `json:"executionId,omitempty"`
	Result      json.RawMessage `json:"result"`
	Logs        []string        `json:"logs"`
	Note        string          `json:"note,omitempty"`
}

type failed struct {
	Status      string   `json:"status"`
	Reason      string   `json:"reason"`
	ExecutionID string   `json:"executionId,omitempty"`
	Error       string   `json:"error"`
	Code        string   `json:"code,omitempty"`
	Recovery    string   `json:"recovery,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
	Note        string   `json:"note,omitempty"`
	Logs        []string `json:"logs"`
}

// Completed tells of a call that the tool has answered, be it with an error of its own. Whoever can, passes the tool's own content on
// instead of the text.
func Completed(c Completion) Rendered {
	value := c.Result.value()
	if c.ToolError {
		text := orNothing(c.Result.text(), "the tool answered with an error and said nothing")
		return Rendered{
			Text:       withNote("Error: "+preview(text, maxPreview), c.Note),
			Structured: failed{Status: StatusError, Reason: "tool_error", ExecutionID: executionID(c.Key), Error: preview(text, maxPreview), Note: c.Note, Logs: []string{}},
			IsError:    true,
		}
	}
	text := c.Result.text()
	if text == "" && value != nil {
		text = pretty(value)
	}
	if value == nil {
		value = json.RawMessage("null")
	}
	return Rendered{
		Text:       withNote(preview(orNothing(text, "(no result)"), maxPreview), c.Note),
		Structured: completed{Status: StatusCompleted, ExecutionID: executionID(c.Key), Result: value, Logs: []string{}, Note: c.Note},
	}
}

// value is what the tool returned as a value: its structured content, or its only text where that is not long. A long text stands in
// the content alone: told twice, it would double what a client has to take.
func (r ToolResult) value() json.RawMessage {
	if len(r.StructuredContent) > 0 && string(r.StructuredContent) != "null" {
		return r.StructuredContent
	}
	if len(r.Content) != 1 || len(r.Content[0]) > 4*maxPreview {
		return nil
	}
	text, ok := textOf(r.Content[0])
	if !ok || utf8.RuneCountInString(text) > maxPreview {
		return nil
	}
	value, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return value
}

// text joins what of the content is text.
func (r ToolResult) text() string {
	var parts []string
	for _, block := range r.Content {
		if text, ok := textOf(block); ok && text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func textOf(block json.RawMessage) (string, bool) {
	var content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(block, &content) != nil || content.Type != "text" {
		return "", false
	}
	return content.Text, true
}

func orNothing(text, nothing string) string {
	if text == "" {
		return nothing
	}
	return text
}

func withNote(text, note string) string {
	if note == "" {
		return text
	}
	return text + "\n\nNote: " + note
}

func executionID(key string) string {
	if key == "" {
		return ""
	}
	return "exec_" + key
}
