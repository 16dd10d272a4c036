package simulator

import (
	"fmt"
	"net/http"
	"time"
)

// reply gives an answer in the form that was asked for.
func reply(w http.ResponseWriter, stream bool, answer chatAnswer) {
	if !stream {
		writeJSON(w, http.StatusOK, completion("chat.completion", map[string]any{
			"index": 0, "message": answer.message(), "finish_reason": answer.reason(),
		}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	delta := answer.message()
	if calls, ok := delta["tool_calls"].([]map[string]any); ok {
		calls[0]["index"] = 0
	}
	for _, choice := range []map[string]any{
		{"index": 0, "delta": delta, "finish_reason": nil},
		{"index": 0, "delta": struct{}{}, "finish_reason": answer.reason()},
	} {
		_, _ = w.Write(frame(completion("chat.completion.chunk", choice))) // the caller may have left
		flush(w)
	}
	_, _ = fmt.Fprint(w, "data: [DONE]\n\n")
}

func completion(object string, choice map[string]any) map[string]any {
	return map[string]any{
		"id": "chatcmpl-scripted", "object": object, "created": time.Now().Unix(), "model": ModelID,
		"choices": []any{choice},
		"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}
}

func (a chatAnswer) message() map[string]any {
	if a.callID == "" {
		return map[string]any{"role": "assistant", "content": a.text}
	}
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []map[string]any{{
		"id": a.callID, "type": "function", "function": map[string]string{"name": a.tool, "arguments": a.args},
	}}}
}

func (a chatAnswer) reason() string {
	if a.callID == "" {
		return "stop"
	}
	return "tool_calls"
}
