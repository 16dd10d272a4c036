package conformance_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/mcpserver/mcpservertest"
)

func TestASessionSpeaksTheVersionThatWasAskedForOrTheNewest(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	for wanted, spoken := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26",
		"1999-01-01": newest, "2099-01-01": newest, modern: newest,
	} {
		var made struct {
			Result struct{ ProtocolVersion string }
		}
		send(t, url, http.MethodPost, initialize(wanted), nil).message(&made)
		require.Equal(t, spoken, made.Result.ProtocolVersion, wanted)
	}
}

func TestEveryAnswerOfASessionHasItsHeaders(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	own := session(t, url, newest)
	for name, tc := range map[string]struct {
		method, body, kind string
		status             int
	}{
		"a quick answer": {http.MethodPost, stateful("ping", ""), "application/json", http.StatusOK},
		"a late answer":  {http.MethodPost, stateful("tools/list", ""), "text/event-stream", http.StatusOK},
		"no answer":      {http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, "", http.StatusAccepted},
		"an error":       {http.MethodPost, "{", "application/json", http.StatusBadRequest},
		"no method":      {http.MethodPut, "{}", "application/json", http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := send(t, url, tc.method, tc.body, own)
			require.Equal(t, tc.status, a.status, a.body)
			require.Equal(t, tc.kind, a.header.Get("Content-Type"))
			require.Equal(t, "*", a.header.Get("Access-Control-Allow-Origin"))
			for _, exposed := range []string{"mcp-session-id", "WWW-Authenticate", "Retry-After"} {
				require.Contains(t, a.header.Get("Access-Control-Expose-Headers"), exposed)
			}
			require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
			if tc.status != http.StatusOK {
				return
			}
			require.Equal(t, own["Mcp-Session-Id"], a.header.Get("Mcp-Session-Id"))
			require.Contains(t, a.header.Get("Cache-Control"), "no-cache")
			if tc.kind == "text/event-stream" {
				require.Equal(t, "no", a.header.Get("X-Accel-Buffering"))
				require.Regexp(t, `(?m)\Aid: \S+:[0-9a-f]{16}\ndata: \n\n`, a.body, "a position comes first, without data")
			}
		})
	}
}

func TestAListenerAndWhoComesBackSeeACommentBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	url := testHost(t).Start().URL
	own := session(t, url, newest)
	closing := send(t, url, http.MethodPost, stateful("tools/call", `"name":"test_reconnection"`), own)
	require.Regexp(t, `\nevent: close\nretry: 10\ndata: \n\n\z`, closing.body)
	position, _, _ := strings.Cut(strings.TrimPrefix(closing.body, "id: "), "\n")
	for _, last := range []string{position, ""} {
		own["Last-Event-ID"] = last
		response := open(t.Context(), t, url, http.MethodGet, "", own)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "no", response.Header.Get("X-Accel-Buffering"))
		require.Equal(t, own["Mcp-Session-Id"], response.Header.Get("Mcp-Session-Id"))
		first, err := bufio.NewReader(response.Body).ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(first, ":"), first)
		require.NoError(t, response.Body.Close())
	}
}

// Whoever may not come in learns nothing about what else is wrong.
func TestRequestsAreRefusedForTheFirstOfSeveralReasons(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.MCP = mcpservertest.Conformance{}
	url := g.Start().URL
	wrong := []struct {
		name, value  string
		status, code int
	}{
		{"Host", "evil.example", http.StatusForbidden, -32001},
		{"Origin", "https://evil.example", http.StatusForbidden, -32001},
		{"Authorization", "Bearer bad", http.StatusUnauthorized, -32001},
		{"Accept", "text/html", http.StatusNotAcceptable, -32000},
		{"Content-Type", "text/html", http.StatusUnsupportedMediaType, -32000},
		{"Mcp-Protocol-Version", "1999-01-01", http.StatusBadRequest, -32022},
		{"Mcp-Session-Id", strings.Repeat("a", 64), http.StatusNotFound, -32001},
	}
	for i := range wrong {
		with := header{"Authorization": "Bearer ann"}
		for _, each := range wrong[i:] {
			with[each.name] = each.value
		}
		send(t, url, http.MethodPost, initialize(newest), with).fault(wrong[i].status, wrong[i].code)
	}
}

func TestBrowsersMayAskWhetherTheyMaySendTheHeadersOfBothProtocols(t *testing.T) {
	t.Parallel()
	g := mcpservertest.New(t)
	g.MCP = mcpservertest.Conformance{}
	url := g.Start().URL
	page := strings.TrimSuffix(url, "/mcp")
	a := send(t, url, http.MethodOptions, "", header{"Origin": page, "Access-Control-Request-Method": http.MethodPost})
	require.Equal(t, http.StatusNoContent, a.status, "before anybody is asked for a token")
	require.Equal(t, page, a.header.Get("Access-Control-Allow-Origin"))
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions} {
		require.Contains(t, a.header.Get("Access-Control-Allow-Methods"), method)
	}
	for _, name := range []string{
		"content-type", "authorization", "accept", "mcp-session-id", "mcp-protocol-version", "last-event-id", "mcp-method", "mcp-name",
	} {
		require.Contains(t, a.header.Get("Access-Control-Allow-Headers"), name)
	}
}
