package simulator_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

const offeredTool = "cloud_search_capabilities"

func newModel(t *testing.T, options simulator.ModelOptions) *simulator.Model {
	t.Helper()
	options.Tool = offeredTool
	model, err := simulator.NewModel(options)
	require.NoError(t, err)
	t.Cleanup(model.Close)
	return model
}

// chat is a conversation as an engine leads it.
type chat struct {
	t        *testing.T
	model    *simulator.Model
	stream   bool
	tools    []string
	messages []map[string]any
}

// said is what came back: a text or a call.
type said struct {
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (c *chat) say(message map[string]any) (said, string) {
	c.t.Helper()
	c.messages = append(c.messages, message)
	var tools []map[string]any
	for _, name := range c.tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name}})
	}
	status, body := c.post(map[string]any{"model": simulator.ModelID, "stream": c.stream, "messages": c.messages, "tools": tools})
	require.Equal(c.t, http.StatusOK, status, body)
	if c.stream {
		return readChunks(c.t, body)
	}
	var answer struct {
		Choices []struct {
			Message said   `json:"message"`
			Reason  string `json:"finish_reason"`
		} `json:"choices"`
	}
	require.NoError(c.t, json.Unmarshal([]byte(body), &answer))
	return answer.Choices[0].Message, answer.Choices[0].Reason
}

func (c *chat) post(body any) (int, string) {
	c.t.Helper()
	encoded, err := json.Marshal(body)
	require.NoError(c.t, err)
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.model.URL()+"/chat/completions", bytes.NewReader(encoded))
	require.NoError(c.t, err)
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(c.t, err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return response.StatusCode, string(answer)
}

func readChunks(t *testing.T, body string) (got said, reason string) {
	t.Helper()
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	require.Equal(t, "data: [DONE]", events[len(events)-1])
	for _, event := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta  json.RawMessage `json:"delta"`
				Reason string          `json:"finish_reason"`
			} `json:"choices"`
		}
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk))
		require.NoError(t, json.Unmarshal(chunk.Choices[0].Delta, &got))
		reason = chunk.Choices[0].Reason
	}
	return got, reason
}

func user(text string) map[string]any { return map[string]any{"role": "user", "content": text} }

func result(call said, text string) map[string]any {
	return map[string]any{"role": "tool", "tool_call_id": call.ToolCalls[0].ID, "content": text}
}

func TestAModelCallsItsToolAndEndsTheTurn(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"json": false, "event stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newModel(t, simulator.ModelOptions{Calls: 2, Arguments: `{"q":"x"}`})
			c := &chat{t: t, model: model, stream: stream, tools: []string{"read", offeredTool, "bash"}}
			one, reason := c.say(user("go"))
			require.Equal(t, "tool_calls", reason)
			require.Equal(t, "function", one.ToolCalls[0].Type)
			require.Equal(t, offeredTool, one.ToolCalls[0].Function.Name)
			require.JSONEq(t, `{"q":"x"}`, one.ToolCalls[0].Function.Arguments)
			other, _ := c.say(result(one, "found"))
			require.NotEqual(t, one.ToolCalls[0].ID, other.ToolCalls[0].ID)
			last, reason := c.say(result(other, "Not connected"))
			require.Equal(t, "stop", reason)
			require.Empty(t, last.ToolCalls)

			turns := model.Turns()
			require.Len(t, turns, 1)
			require.Equal(t, "go", turns[0].Prompt)
			require.Equal(t, []string{"bash", offeredTool, "read"}, turns[0].Offered)
			require.False(t, turns[0].Ended.Before(turns[0].Began))
			require.Len(t, turns[0].Calls, 2)
			require.Equal(t, "found", turns[0].Calls[0].Result)
			require.True(t, turns[0].Calls[1].Answered)
			require.Equal(t, "Not connected", turns[0].Calls[1].Result)
		})
	}
}

func TestEachPromptOfAConversationIsATurn(t *testing.T) {
	t.Parallel()
	model := newModel(t, simulator.ModelOptions{})
	c := &chat{t: t, model: model, tools: []string{offeredTool}}
	one, _ := c.say(map[string]any{"role": "user", "content": []any{map[string]string{"type": "text", "text": "first"}}})
	c.say(result(one, "a"))
	other, _ := c.say(user("second"))
	require.Len(t, model.Turns(), 2)
	require.Zero(t, model.Turns()[1].Ended)
	c.say(result(other, "b"))
	turns := model.Turns()
	require.Equal(t, []string{"first", "second"}, []string{turns[0].Prompt, turns[1].Prompt})
	require.Equal(t, "b", turns[1].Calls[0].Result)
}

func TestAToolThatIsNotOfferedIsNotCalled(t *testing.T) {
	t.Parallel()
	model := newModel(t, simulator.ModelOptions{})
	c := &chat{t: t, model: model, tools: []string{"read"}}
	_, reason := c.say(user("go"))
	require.Equal(t, "stop", reason)
	require.Empty(t, model.Turns()[0].Calls)
}

func TestARequestWithoutToolsIsNoTurn(t *testing.T) {
	t.Parallel()
	model := newModel(t, simulator.ModelOptions{})
	title, reason := (&chat{t: t, model: model}).say(user("make a title"))
	require.Equal(t, "stop", reason)
	require.NotEmpty(t, title.Content)
	require.Empty(t, model.Turns())
}

func TestAModelTellsItsStepsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	model := newModel(t, simulator.ModelOptions{})
	var mu sync.Mutex
	var steps []simulator.ModelStep
	model.SetBefore(func(step simulator.ModelStep) {
		mu.Lock()
		defer mu.Unlock()
		steps = append(steps, step)
	})
	c := &chat{t: t, model: model, tools: []string{offeredTool}}
	call, _ := c.say(user("go"))
	c.say(result(call, "x"))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []simulator.ModelStep{{Turn: 0, Step: 0, Call: true}, {Turn: 0, Step: 1}}, steps)
}

func TestAModelRefusesARequestWithoutMessages(t *testing.T) {
	t.Parallel()
	c := &chat{t: t, model: newModel(t, simulator.ModelOptions{})}
	status, _ := c.post(map[string]any{"model": simulator.ModelID})
	require.Equal(t, http.StatusBadRequest, status)
}

func TestAModelGoesOnFromWhatItWasAnswered(t *testing.T) {
	t.Parallel()
	model := newModel(t, simulator.ModelOptions{Next: func(results []string) (tool, arguments string) {
		if len(results) < 2 {
			return offeredTool, `{"after":"` + strings.Join(results, ",") + `"}`
		}
		return "", ""
	}})
	c := &chat{t: t, model: model, tools: []string{offeredTool}}
	one, _ := c.say(user("go"))
	require.JSONEq(t, `{"after":""}`, one.ToolCalls[0].Function.Arguments)
	other, _ := c.say(result(one, "found"))
	require.JSONEq(t, `{"after":"found"}`, other.ToolCalls[0].Function.Arguments)
	_, reason := c.say(result(other, "done"))
	require.Equal(t, "stop", reason)
}
