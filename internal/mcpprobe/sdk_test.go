package mcpprobe_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// sdkEndpoint serves the SDK's own server and counts HTTP methods.
type sdkEndpoint struct {
	*httptest.Server

	mu    sync.Mutex
	count map[string]int
}

func newSDKEndpoint(t *testing.T, options *mcp.StreamableHTTPOptions, tools int) *sdkEndpoint {
	t.Helper()
	e := &sdkEndpoint{count: map[string]int{}}
	handler := newSDKHandler(t, options, tools)
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		e.count[r.Method]++
		e.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func newSDKHandler(t *testing.T, options *mcp.StreamableHTTPOptions, tools int) http.Handler {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "2"}, &mcp.ServerOptions{PageSize: 10})
	for n := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("tool_%03d", n)},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
	}
	t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
}

func (e *sdkEndpoint) counts() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	counts := map[string]int{}
	for method, n := range e.count {
		counts[method] = n
	}
	return counts
}

func TestSDKServerPassesInAllItsModes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		options  mcp.StreamableHTTPOptions
		sessions bool
	}{
		{"stateful, sse", mcp.StreamableHTTPOptions{SessionTimeout: time.Minute}, true},
		{"stateful, json", mcp.StreamableHTTPOptions{JSONResponse: true}, true},
		{"stateful, with an event store", mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, true},
		{"stateless, sse", mcp.StreamableHTTPOptions{Stateless: true}, false},
		{"stateless, json", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := newSDKEndpoint(t, &tc.options, 25)
			target := mcpprobe.Target{
				URL: e.URL, RequestTimeout: 20 * time.Second, Expected: []string{"tool_000", "tool_024"},
			}
			got := mcpprobe.Probe(t.Context(), target)
			require.Nil(t, got.Failure)
			require.Equal(t, 25, got.ToolCount)
			require.Equal(t, &mcpprobe.ServerInfo{Name: "sdk", Version: "2"}, got.Trace.Server)
			require.Equal(t, "2025-06-18", got.Trace.ProtocolVersion)
			require.Zero(t, e.counts()[http.MethodGet])
			require.Equal(t, 5, e.counts()[http.MethodPost])
			if !tc.sessions {
				require.Zero(t, e.counts()[http.MethodDelete])
				return
			}
			require.Equal(t, 1, e.counts()[http.MethodDelete])
			requireCanaryWorks(t, e, target)
		})
	}
}

// requireCanaryWorks keeps a session, uses it, ends it, and sees it forgotten.
func requireCanaryWorks(t *testing.T, e *sdkEndpoint, target mcpprobe.Target) {
	t.Helper()
	target.KeepSession = true
	first := mcpprobe.Probe(t.Context(), target)
	require.Nil(t, first.Failure)
	require.NotNil(t, first.Session)

	target.Canary = first.Session
	before := e.counts()[http.MethodPost]
	second := mcpprobe.Probe(t.Context(), target)
	require.Nil(t, second.Failure)
	require.Zero(t, second.Forgotten)
	require.Equal(t, first.Session, second.Session)
	require.Equal(t, before+3, e.counts()[http.MethodPost])

	target.KeepSession = false
	require.Nil(t, mcpprobe.Probe(t.Context(), target).Session)

	third := mcpprobe.Probe(t.Context(), target)
	require.Nil(t, third.Failure)
	require.Equal(t, http.StatusNotFound, third.Forgotten)
	require.Zero(t, e.counts()[http.MethodGet])
}

func TestRestartedSDKServerHasForgottenTheCanary(t *testing.T) {
	t.Parallel()
	handler := newSDKHandler(t, nil, 1)
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		current := handler
		mu.Unlock()
		current.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	target := mcpprobe.Target{URL: server.URL, RequestTimeout: 20 * time.Second, KeepSession: true}
	target.Canary = mcpprobe.Probe(t.Context(), target).Session
	require.NotNil(t, target.Canary)

	mu.Lock()
	handler = newSDKHandler(t, nil, 1)
	mu.Unlock()
	got := mcpprobe.Probe(t.Context(), target)
	require.Nil(t, got.Failure)
	require.Equal(t, http.StatusNotFound, got.Forgotten)
	require.NotEqual(t, target.Canary.ID, got.Session.ID)
}
