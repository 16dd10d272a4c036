package catalog_test

import (
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

// TestAToolThatMayBeRepeatedIsCalledOnce holds for both eras and both forms of an answer.
func TestAToolThatMayBeRepeatedIsCalledOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]upstream.Options{"json": {JSON: true}, "events": {}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			sources := open(t, server)
			for range 3 {
				result, err := sources.Call(t.Context(), catalog.CallRequest{Address: "up.echo", Key: "k", Arguments: args(t, map[string]any{"text": "hello"})})
				require.NoError(t, err)
				require.Equal(t, "hello", textOf(t, result))
			}
			require.Equal(t, 3, server.Counts().Calls[upstream.Echo])
			require.Equal(t, 3, server.Counts().Headers, "each bears the key")
		})
	}
}

func TestNotificationsBeforeAnAnswerAreNoAnswer(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	calls := answering(server, func(_ int64, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1\ndata: \n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\r\n\r\n")
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":"+idOf(r)+",\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"found\"}]}}\n\n")
	})
	require.Equal(t, "found", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
	require.EqualValues(t, 1, calls.Load())
}

// TestAnAnswerThatAsksIsLeftToTheClient: a tool that may be repeated is, by a client that can answer.
func TestAnAnswerThatAsksIsLeftToTheClient(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	calls := answering(server, func(calls int64, w http.ResponseWriter, r *http.Request) {
		if calls == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\n")
			return
		}
		answer(w, r, `"result":{"content":[{"type":"text","text":"again"}]}`)
	})
	require.Equal(t, "again", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
	require.EqualValues(t, 2, calls.Load())
}

// idOf is the id of a request, as JSON.
func idOf(r *http.Request) string {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &message)
	return string(message.ID)
}

// answering has calls answered by a function, which is told how many there were.
func answering(server *upstream.Server, how func(calls int64, w http.ResponseWriter, r *http.Request)) *atomic.Int64 {
	calls := &atomic.Int64{}
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		if method != "tools/call" {
			return false
		}
		how(calls.Add(1), w, r)
		return true
	})
	return calls
}
