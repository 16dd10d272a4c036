package mcpprobe_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// anyAnswer draws an answer that may be almost right, or nothing of the kind.
func anyAnswer(t *rapid.T, label string) func(http.ResponseWriter, *http.Request, request) {
	code := rapid.SampledFrom([]int{200, 200, 200, 202, 204, 301, 307, 400, 401, 403, 404, 422, 429, 500, 503}).Draw(t, label+" status")
	media := rapid.SampledFrom([]string{
		"", "application/json", "application/json; charset=utf-8", "text/event-stream", "text/html", ";;",
	}).Draw(t, label+" media type")
	body := rapid.SampledFrom([]string{
		"", "null", "[]", "{}", "data: ", "data: null\n\n", "id: 1\n\n", "event: x\ndata: {}\n\n", "session not found", bearer,
		`{"jsonrpc":"2.0","id":%s,"result":{}}`, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[null]}}`,
		`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"` + search + `"}]}}`, `{"jsonrpc":"2.0","id":%s,"error":{}}`,
		"data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"tools\":[{}]}}\n\n", `{"jsonrpc":"2.0","id":99,"result":{}}`,
		"data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n\n",
		`{"jsonrpc":"2.0","method":"ping","id":1}`, `[{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}]`,
	}).Draw(t, label+" body")
	return func(w http.ResponseWriter, _ *http.Request, in request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		if id := string(in.ID); len(body) > 0 && body[len(body)-1] != '%' && id != "" {
			_, _ = fmt.Fprintf(w, body+"%.0s", id, id)
		}
	}
}

func TestEveryAnswerGivesAConsistentResultInTime(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	greet := f.answers[methodInit]
	rapid.Check(t, func(rt *rapid.T) {
		f.on(methodInit, greet).on(methodList, anyAnswer(rt, "list"))
		if rapid.Bool().Draw(rt, "odd initialize") {
			f.on(methodInit, anyAnswer(rt, "initialize"))
		}
		target := f.target(within(400 * time.Millisecond))
		if rapid.Bool().Draw(rt, "canary") {
			canary(&target)
		}
		started := time.Now()
		got := mcpprobe.Probe(t.Context(), target)
		require.Less(rt, time.Since(started), mcpprobe.Bound(target.RequestTimeout))
		require.NotContains(rt, fmt.Sprintf("%+v %+v", got, got.Failure), bearer)
		require.Equal(rt, got.Unreachable, !got.Checked)
		require.NotEmpty(rt, got.Trace.Steps)
		if got.Failure == nil {
			require.Equal(rt, target.Expected, got.Present)
			return
		}
		if got.Checked {
			require.Equal(rt, len(target.Expected), len(got.Present)+len(got.Missing))
		}
	})
}
