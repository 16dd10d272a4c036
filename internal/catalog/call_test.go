package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

func TestARefusalIsKnownNotToHaveSucceeded(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	failed := fault(t, sources, catalog.CallRequest{Address: "up.fail", Arguments: args(t, map[string]any{"how": "rpc"})})
	require.Equal(t, catalog.CodeRefused, failed.Code)
	require.Equal(t, "it failed", failed.Message)
	require.True(t, failed.Sent)
	require.True(t, failed.Answered)
	require.False(t, failed.Unknown())

	unknown := fault(t, sources, catalog.CallRequest{Address: "up.nothing"})
	require.ErrorIs(t, unknown, catalog.ErrNoTool)
	require.False(t, unknown.Unknown())
}

func TestAProxyThatGotNoAnswerDoesNotKnowTheOutcome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body, code string
		unknown    bool
	}{
		{`{"code":-32001,"message":"MCP error -32001: Request timed out"}`, catalog.CodeTimeout, true},
		{`{"code":-32000,"message":"MCP error -32000: Connection closed"}`, catalog.CodeUnreachable, true},
		{`{"code":-32000,"message":"no such thing"}`, catalog.CodeRefused, false},
		{`{"code":-32602,"message":"the window timed out of range"}`, catalog.CodeRefused, false},
	} {
		server := start(t, upstream.Options{})
		sources := open(t, server)
		server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
			if method == "tools/call" {
				answer(w, r, `"error":`+tc.body)
			}
			return method == "tools/call"
		})
		failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"})})
		require.Equal(t, tc.code, failed.Code)
		require.Equal(t, tc.unknown, failed.Unknown())
	}
}

func TestEachAnswerOfHTTPHasItsOwnMeaning(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status         int
		code           string
		unknown, twice bool
	}{
		{http.StatusUnauthorized, catalog.CodeUnauthorized, false, false},
		{http.StatusForbidden, catalog.CodeUnauthorized, false, false},
		{http.StatusTemporaryRedirect, catalog.CodeRefused, false, false},
		{http.StatusTooManyRequests, catalog.CodeRefused, false, false},
		{http.StatusBadRequest, catalog.CodeRefused, false, true}, // it may be the session that is bad
		{http.StatusNotFound, catalog.CodeRefused, false, true},
		{http.StatusInternalServerError, catalog.CodeUnreachable, true, false},
		{http.StatusServiceUnavailable, catalog.CodeUnreachable, true, false},
		{http.StatusGatewayTimeout, catalog.CodeUnreachable, true, false},
	} {
		t.Run(http.StatusText(tc.status), func(t *testing.T) {
			t.Parallel()
			server := start(t, upstream.Options{})
			sources := open(t, server)
			require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"}))) // a session that was used
			var calls atomic.Int64
			server.Intercept(func(method string, w http.ResponseWriter, _ *http.Request) bool {
				if method != "tools/call" {
					return false
				}
				calls.Add(1)
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, "s3cr3t words")
				return true
			})
			failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"})})
			require.Equal(t, tc.code, failed.Code)
			require.Equal(t, tc.unknown, failed.Unknown())
			require.True(t, failed.Sent)
			require.Equal(t, tc.twice, calls.Load() == 2, "%d calls", calls.Load())
			require.NotContains(t, failed.Unwrap().Error(), "s3cr3t")
			server.Intercept(nil)
			require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})), "it goes on")
		})
	}
}

func TestACallThatNeverLeftIsNotSent(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
	server.Close()
	for _, tool := range []string{upstream.Put, upstream.Echo} {
		_ = fault(t, sources, catalog.CallRequest{Address: "up." + tool}) // it may have gone to a connection that was being closed
		failed := fault(t, sources, catalog.CallRequest{Address: "up." + tool})
		require.Equal(t, catalog.CodeUnreachable, failed.Code)
		require.False(t, failed.Sent)
		require.False(t, failed.Unknown())
	}
}

func TestAConnectionCutAfterTheRequestLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
	var calls atomic.Int64
	server.Intercept(func(method string, w http.ResponseWriter, _ *http.Request) bool {
		if method == "tools/call" {
			calls.Add(1)
			upstream.Cut(w)
		}
		return method == "tools/call"
	})
	failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"}), Key: "k"})
	require.Equal(t, catalog.CodeUnreachable, failed.Code)
	require.True(t, failed.Unknown())
	require.EqualValues(t, 1, calls.Load(), "never sent twice, although it bears a key")

	calls.Store(0)
	require.True(t, fault(t, sources, catalog.CallRequest{Address: "up.echo", Arguments: args(t, map[string]any{"text": "x"})}).Unknown())
	require.EqualValues(t, 2, calls.Load(), "what may be repeated is, once")
}

func TestAStreamThatEndsWithoutAnAnswerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	for _, body := range []string{"", "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", "data: {nonsense\n\n"} {
		server.Intercept(func(method string, w http.ResponseWriter, _ *http.Request) bool {
			if method != "tools/call" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, body)
			return true
		})
		failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"})})
		require.True(t, failed.Unknown(), "%q: %v", body, failed.Cause)
	}
}

func TestALostSessionIsOpenedAgainAndTheCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	for range 3 {
		require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
		require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
		server.Forget()
	}
	require.Equal(t, 3, server.Counts().Effects["a"])
	require.NoError(t, sources.Refresh(t.Context(), "up"))
}

// A6
func TestAnEmptyAnswerInALostSessionIsNoSuccess(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	var mu sync.Mutex
	known, stale := map[string]bool{}, map[string]bool{}
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Mcp-Session-Id")
		known[id] = true
		if id == "" || !stale[id] || method == http.MethodGet || method == http.MethodDelete {
			return false
		}
		answer(w, r, `"result":{"content":[],"tools":[]}`)
		return true
	})
	sources := open(t, server)
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
	require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
	mu.Lock()
	stale = maps.Clone(known)
	mu.Unlock()
	require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})), "what may be repeated is")
	failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"})})
	require.Equal(t, catalog.CodeProtocol, failed.Code)
	require.True(t, failed.Unknown())
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})), "the next one has a new session")
}

func TestAnEmptyAnswerOfAToolThatSaysNothingIsOne(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	for range 2 {
		require.Contains(t, string(call(t, sources, upstream.Fail, map[string]any{"how": "empty"}).Result), `"content":[]`)
	}
	require.Equal(t, 2, server.Counts().Calls[upstream.Fail])
}

func TestASlowToolTimesOut(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q,"timeout":"1s"}}}`, server.URL()), nil)
	require.NoError(t, sources.Refresh(t.Context(), "up"))
	failed := fault(t, sources, catalog.CallRequest{Address: "up.slow"})
	require.Equal(t, catalog.CodeTimeout, failed.Code)
	require.True(t, failed.Unknown())

	ctx, cancel := context.WithCancel(t.Context())
	server.Intercept(func(method string, _ http.ResponseWriter, _ *http.Request) bool {
		if method == "tools/call" {
			cancel()
		}
		return false
	})
	_, err := sources.Call(ctx, catalog.CallRequest{Address: "up.slow"})
	require.ErrorIs(t, err, context.Canceled)
}

func TestASilentPortIsNotSent(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":"http://%s/mcp","timeout":"1s"}}}`, silent.Addr()), nil)
	require.Error(t, sources.Refresh(t.Context(), "up"))
	require.Equal(t, catalog.StateDown, sources.Status()[0].State)
	_, err = sources.Lookup(t.Context(), "up.echo")
	require.ErrorIs(t, err, catalog.ErrNoTool)
}

func TestClosingEndsCallsUnderWay(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	done := make(chan error, 1)
	begun := make(chan struct{})
	server.Intercept(func(method string, _ http.ResponseWriter, _ *http.Request) bool {
		if method == "tools/call" {
			close(begun)
		}
		return false
	})
	go func() {
		_, err := sources.Call(context.Background(), catalog.CallRequest{Address: "up.slow"}) //nolint:usetesting // it ends with the catalog
		done <- err
	}()
	<-begun
	sources.Close()
	select {
	case err := <-done:
		require.Error(t, err)
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
	_, err := sources.Call(t.Context(), catalog.CallRequest{Address: "up.echo"})
	require.Error(t, err)
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
