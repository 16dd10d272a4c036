package conformance_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const call = `"name":"test_simple_text","arguments":{}`

func called(name string) header {
	return header{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": name}
}

func asked(method string) header {
	return header{"Mcp-Protocol-Version": modern, "Mcp-Method": method}
}

func TestAModernRequestIsHeldToItsHeaders(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	for name, tc := range map[string]struct {
		body   string
		header header
	}{
		"says another method":                {stateless("tools/call", modern, call), header{"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/list", "Mcp-Name": "test_simple_text"}},
		"says no method":                     {stateless("tools/call", modern, call), header{"Mcp-Protocol-Version": modern, "Mcp-Name": "test_simple_text"}},
		"says another name":                  {stateless("tools/call", modern, call), called("test_image_content")},
		"says no name":                       {stateless("tools/call", modern, call), asked("tools/call")},
		"says no version":                    {stateless("tools/list", modern, ""), header{"Mcp-Method": "tools/list"}},
		"says an older version":              {stateless("tools/list", modern, ""), header{"Mcp-Protocol-Version": newest, "Mcp-Method": "tools/list"}},
		"says a newer version than its body": {stateless("tools/list", newest, ""), asked("tools/list")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := send(t, url, http.MethodPost, tc.body, tc.header)
			a.fault(http.StatusBadRequest, -32020)
			require.Contains(t, a.body, `"id":"one"`)
		})
	}
}

func TestAModernRequestNeedsNoSessionAndIsToldOfNone(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	own := called("test_simple_text")
	own["Mcp-Session-Id"], own["Last-Event-ID"] = "of an older time", "x:0000000000000001"
	a := send(t, url, http.MethodPost, stateless("tools/call", modern, call), own)
	var answered struct {
		Result struct {
			ResultType string
			Content    []struct{ Text string }
		}
	}
	a.message(&answered)
	require.Equal(t, "complete", answered.Result.ResultType)
	require.Contains(t, answered.Result.Content[0].Text, "simple text")
	require.Empty(t, a.header.Get("Mcp-Session-Id"))

	var found struct {
		Result struct {
			SupportedVersions []string
			ResultType        string
		}
	}
	send(t, url, http.MethodPost, stateless("server/discover", modern, ""), asked("server/discover")).message(&found)
	require.Equal(t, []string{modern, newest, "2025-06-18", "2025-03-26", "2024-11-05"}, found.Result.SupportedVersions)

	var listed struct {
		Result struct {
			TTLMillis  *int `json:"ttlMs"`
			CacheScope string
		}
	}
	a = send(t, url, http.MethodPost, stateless("tools/list", modern, ""), asked("tools/list"))
	a.message(&listed)
	require.NotNil(t, listed.Result.TTLMillis)
	require.NotEmpty(t, listed.Result.CacheScope)
	require.Equal(t, "no", a.header.Get("X-Accel-Buffering"))

	note := strings.Replace(stateless("notifications/cancelled", modern, `"requestId":1`), `"id":"one",`, "", 1)
	a = send(t, url, http.MethodPost, note, asked("notifications/cancelled"))
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	require.Empty(t, a.body)
}

func TestWhatTheModernProtocolDoesNotHaveIsRefusedInItsWords(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "of/nobody"} {
		send(t, url, http.MethodPost, stateless(method, modern, ""), asked(method)).fault(http.StatusNotFound, -32601)
	}
	for name, tc := range map[string]struct {
		body   string
		header header
		code   int
	}{
		"no JSON":             {"{", asked("tools/list"), -32700},
		"a batch":             {"[" + stateless("tools/list", modern, "") + "]", asked("tools/list"), -32600},
		"no parameters":       {`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, called("test_simple_text"), -32600},
		"nothing about it":    {stateful("tools/list", ""), asked("tools/list"), -32602},
		"no such tool":        {stateless("tools/call", modern, `"name":"none","arguments":{}`), called("none"), -32602},
		"no such resource":    {stateless("resources/read", modern, `"uri":"test://none"`), header{"Mcp-Protocol-Version": modern, "Mcp-Method": "resources/read", "Mcp-Name": "test://none"}, -32602},
		"a version of nobody": {stateless("tools/list", "2099-01-01", ""), header{"Mcp-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"}, -32022},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send(t, url, http.MethodPost, tc.body, tc.header).fault(http.StatusBadRequest, tc.code)
		})
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := send(t, url, method, "", header{"Mcp-Protocol-Version": modern})
		a.fault(http.StatusMethodNotAllowed, -32001)
		require.Equal(t, "POST, OPTIONS", a.header.Get("Allow"))
	}
}

func TestAVersionThatIsNotSpokenIsAnsweredWithThoseThatAre(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	own := session(t, url, newest)
	for _, tc := range []struct {
		version, method, body string
		session               bool
	}{
		{"2099-01-01", http.MethodPost, stateless("tools/list", "2099-01-01", ""), false},
		{"2026-01-01", http.MethodPost, stateless("tools/list", "2026-01-01", ""), false},
		{"1999-01-01", http.MethodPost, initialize(newest), false},
		{"1999-01-01", http.MethodPost, stateful("ping", ""), true},
		{"1999-01-01", http.MethodGet, "", true},
		{"1999-01-01", http.MethodDelete, "", true},
	} {
		with := header{"Mcp-Protocol-Version": tc.version, "Mcp-Method": "tools/list"}
		if tc.session {
			with["Mcp-Session-Id"] = own["Mcp-Session-Id"]
		}
		var told struct {
			Supported []string
			Requested string
		}
		data := send(t, url, tc.method, tc.body, with).fault(http.StatusBadRequest, -32022)
		require.NoError(t, json.Unmarshal(data, &told))
		require.Equal(t, []string{modern, newest, "2025-06-18", "2025-03-26", "2024-11-05"}, told.Supported)
		require.Equal(t, tc.version, told.Requested)
	}
	require.Equal(t, http.StatusOK, send(t, url, http.MethodPost, stateful("ping", ""), own).status, "the session is as it was")
}

func TestAModernListenerIsAcknowledgedFirstAndKeptAlive(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	response := open(t.Context(), t, url, http.MethodPost,
		stateless("subscriptions/listen", modern, `"notifications":{"toolsListChanged":true}`), asked("subscriptions/listen"))
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	require.Equal(t, "no", response.Header.Get("X-Accel-Buffering"))
	var seen []string
	lines := bufio.NewScanner(response.Body)
	for len(seen) < 2 && lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "data: ") || strings.HasPrefix(line, ":") {
			seen = append(seen, line)
		}
	}
	require.Len(t, seen, 2)
	all := strings.Join(seen, "\n")
	require.Contains(t, all, "notifications/subscriptions/acknowledged")
	require.Contains(t, all, ": keepalive")
}
