package mcpserver_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver"
	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

// benchmarkEcho calls a tool over HTTP, one client after the other.
func benchmarkEcho(b *testing.B, url string) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	session := ""
	send := func(method string, body []byte) http.Header {
		r, err := http.NewRequestWithContext(b.Context(), method, url, bytes.NewReader(body))
		require.NoError(b, err)
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer ann")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		response, err := client.Do(r)
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, err)
		require.NoError(b, response.Body.Close())
		require.Less(b, response.StatusCode, 300)
		return response.Header
	}
	session = send(http.MethodPost, []byte(initializeBody("2025-11-25"))).Get("Mcp-Session-Id")
	send(http.MethodPost, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	body := []byte(call(1, "echo", object{"text": "hello"}))
	for b.Loop() {
		send(http.MethodPost, body)
	}
	send(http.MethodDelete, nil)
}

func BenchmarkEcho(b *testing.B) {
	g := mcpservertest.New(b)
	benchmarkEcho(b, g.Start().URL)
}

// BenchmarkEchoBySDK is the same tool behind the SDK's own handler: what the transport is measured against.
func BenchmarkEchoBySDK(b *testing.B) {
	server, err := mcpservertest.NewHost().BuildServer(b.Context(), mcpserver.Meta{})
	require.NoError(b, err)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true})
	listening := httptest.NewServer(handler)
	b.Cleanup(listening.Close)
	benchmarkEcho(b, listening.URL)
}

func BenchmarkWake(b *testing.B) {
	g := mcpservertest.New(b)
	r := g.Start()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	session := ""
	do := func(body string) {
		q, err := http.NewRequestWithContext(b.Context(), http.MethodPost, r.URL, bytes.NewBufferString(body))
		require.NoError(b, err)
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Authorization", "Bearer ann")
		q.Header.Set("Mcp-Session-Id", session)
		response, err := client.Do(q)
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, err)
		require.NoError(b, response.Body.Close())
		session = response.Header.Get("Mcp-Session-Id")
		require.Equal(b, http.StatusOK, response.StatusCode)
	}
	do(initializeBody("2025-11-25"))
	body := call(1, "echo", object{"text": "hello"})
	b.ResetTimer()
	for b.Loop() {
		r.SleepAll()
		do(body)
	}
}
