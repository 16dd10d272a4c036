package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	late   = time.Minute
	modern = "2026-07-28"
	newest = "2025-11-25" // of the versions with sessions
)

// header is what a test sends beside what every client does; an empty value takes a header away.
type header map[string]string

// answer is a response whose body was read.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

func send(t *testing.T, url, method, body string, more header) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), late)
	defer cancel()
	response := open(ctx, t, url, method, body, more)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{t: t, status: response.StatusCode, header: response.Header, body: string(raw)}
}

// open leaves the body to the test.
func open(ctx context.Context, t *testing.T, url, method, body string, more header) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	for name, value := range more {
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	return response
}

// fault requires an error of JSON-RPC, and gives its data.
func (a answer) fault(status, code int) json.RawMessage {
	a.t.Helper()
	require.Equal(a.t, status, a.status, a.body)
	require.Equal(a.t, "application/json", a.header.Get("Content-Type"))
	var body struct {
		JSONRPC string
		Error   struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
	}
	require.NoError(a.t, json.Unmarshal([]byte(a.body), &body), a.body)
	require.Equal(a.t, "2.0", body.JSONRPC)
	require.Equal(a.t, code, body.Error.Code, a.body)
	require.NotEmpty(a.t, body.Error.Message)
	return body.Error.Data
}

// message is the result or the error of an answer, plain or as the last event of a stream.
func (a answer) message(v any) {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.status, a.body)
	raw := a.body
	if a.header.Get("Content-Type") == "text/event-stream" {
		_, raw, _ = strings.Cut(raw[strings.LastIndex(raw, "data: "):], "data: ")
	}
	require.NoError(a.t, json.Unmarshal([]byte(raw), v), a.body)
}

// stateless is a request of the modern protocol: each says of itself what a session would have said once.
func stateless(method, version, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"one","method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"}}}}`,
		method, params, version)
}

func stateful(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)
}

func initialize(version string) string {
	return stateful("initialize", fmt.Sprintf(`"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"wire","version":"1"}`, version))
}

// session makes a session, and gives the headers of its requests.
func session(t *testing.T, url, version string) header {
	t.Helper()
	made := send(t, url, http.MethodPost, initialize(version), nil)
	require.Equal(t, http.StatusOK, made.status, made.body)
	own := header{"Mcp-Session-Id": made.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": version}
	told := send(t, url, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, own)
	require.Equal(t, http.StatusAccepted, told.status)
	require.Empty(t, told.body)
	return own
}
