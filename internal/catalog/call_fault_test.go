package catalog_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

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
	require.ErrorIs(t, err, catalog.ErrNotListed)
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
