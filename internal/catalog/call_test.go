package catalog_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

func textOf(tb testing.TB, result catalog.CallResult) string {
	tb.Helper()
	var answer struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	require.NoError(tb, json.Unmarshal(result.Result, &answer))
	require.NotEmpty(tb, answer.Content)
	return answer.Content[0].Text
}

func call(tb testing.TB, sources *catalog.Sources, tool string, values map[string]any) catalog.CallResult {
	tb.Helper()
	result, err := sources.Call(tb.Context(), catalog.CallRequest{Address: "up." + tool, Arguments: args(tb, values)})
	require.NoError(tb, err)
	return result
}

// fault makes a call that fails.
func fault(tb testing.TB, sources *catalog.Sources, request catalog.CallRequest) *catalog.CallError {
	tb.Helper()
	_, err := sources.Call(tb.Context(), request)
	var failed *catalog.CallError
	require.ErrorAs(tb, err, &failed)
	require.Equal(tb, fmt.Sprintf("call %s: %s", request.Address, failed.Code), err.Error())
	return failed
}

// answer writes a JSON-RPC answer to the request that is being intercepted.
func answer(w http.ResponseWriter, r *http.Request, rest string) {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &message)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, message.ID, rest)
}

func TestAResultComesAsTheUpstreamSaidIt(t *testing.T) {
	t.Parallel()
	const exact = `{"content":[{"type":"text","text":"\u0041<"}], "structuredContent":{"n":12345678901234567890.10}, "unknown":{"b":1,"a":null}}`
	for name, events := range map[string]bool{"json": false, "events": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, upstream.Options{})
			sources := open(t, server)
			server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
				if method != "tools/call" {
					return false
				}
				if !events {
					answer(w, r, `"result":`+exact)
					return true
				}
				body, _ := io.ReadAll(r.Body)
				var message struct {
					ID json.RawMessage `json:"id"`
				}
				_ = json.Unmarshal(body, &message)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, ": hello\r\nid: 1\r\ndata:\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\r\n"+
					"data: \"params\":{\"progressToken\":1,\"progress\":1}}\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", message.ID, exact)
				return true
			})
			result := call(t, sources, upstream.Echo, map[string]any{"text": "x"}).Result
			require.Zero(t, strings.Compare(exact, string(result)), "byte for byte: %s", result)
		})
	}
}

func TestAResultOfAKindThatIsNotKnownIsPassedOn(t *testing.T) {
	t.Parallel()
	const unknown = `{"content":[{"type":"hologram","data":1}],"isError":true}`
	server := start(t, upstream.Options{})
	sources := open(t, server)
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		if method == "tools/call" {
			answer(w, r, `"result":`+unknown)
		}
		return method == "tools/call"
	})
	result := call(t, sources, upstream.Put, map[string]any{"name": "a"})
	require.JSONEq(t, unknown, string(result.Result))
	require.True(t, result.ToolError)
}

func TestCallsOfBothErasAndKindsOfAnswersWork(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]upstream.Options{
		"legacy events": {}, "legacy json": {JSON: true}, "modern": {Stateless: true}, "modern json": {Stateless: true, JSON: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			sources := open(t, server)
			require.Equal(t, "hello", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "hello"})))
			require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
			require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Save, map[string]any{"name": "a"})))
			failed := call(t, sources, upstream.Fail, map[string]any{"how": "tool"})
			require.True(t, failed.ToolError)
			require.Len(t, textOf(t, call(t, sources, upstream.Big, map[string]any{"bytes": 100_000})), 100_000)
		})
	}
}

func TestAResultMayBeLargerThanTenMebibytes(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]upstream.Options{"events": {}, "json": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			require.Greater(t, len(call(t, sources, upstream.Big, map[string]any{"bytes": 11 << 20}).Result), 11<<20)
		})
	}
}

func TestTheIdempotencyKeyGoesUpstreamInBothPlaces(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{HonoursKey: true})
	sources := open(t, server)
	for _, want := range []string{"wrote a", "had a"} {
		result, err := sources.Call(t.Context(), catalog.CallRequest{
			Address: "up.put", Arguments: args(t, map[string]any{"name": "a"}), Key: "key-1",
		})
		require.NoError(t, err)
		require.Equal(t, want, textOf(t, result))
	}
	require.Equal(t, map[string]int{"key-1": 1}, server.Counts().Keys)
	require.Equal(t, 2, server.Counts().Headers)
	require.Equal(t, catalog.KeyMeta, upstream.MetaKey)
	require.Equal(t, catalog.KeyHeader, upstream.HeaderKey)
}

func TestHeadersGoWithEveryRequestAndNeverIntoErrors(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{Token: "s3cr3t-token"})
	file := fmt.Sprintf(`{"mcpServers":{"up":{"url":%q,"headers":{"Authorization":"Bearer ${TOKEN}"}}}}`, server.URL()+"?key=s3cr3t-query")
	log := &logText{}
	held := "s3cr3t-token"
	sources := openFile(t, file, func(p *catalog.Params) {
		p.Lookup = func(string) (string, bool) { return held, true }
		p.Log = log.logger()
	})
	require.NoError(t, sources.Refresh(t.Context(), "up"))
	require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
	sources.Close()

	held = "s3cr3t-wrong"
	refused := openFile(t, file, func(p *catalog.Params) {
		p.Lookup = func(string) (string, bool) { return held, true }
		p.Log = log.logger()
	})
	err := refused.Refresh(t.Context(), "")
	require.Error(t, err)
	require.Equal(t, catalog.CodeUnauthorized, refused.Status()[0].Code)
	require.Contains(t, log.String(), "source is down")
	require.NotContains(t, err.Error()+log.String()+fmt.Sprintf("%+v", refused.Status()), "s3cr3t")
}
