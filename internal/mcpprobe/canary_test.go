package mcpprobe_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

// forgetting answers the canary's requests with refuse, and every other session's well.
func forgetting(refuse func(http.ResponseWriter, *http.Request, request)) func(http.ResponseWriter, *http.Request, request) {
	return func(w http.ResponseWriter, r *http.Request, in request) {
		if in.Header.Get("Mcp-Session-Id") == "session-of-earlier" {
			refuse(w, r, in)
			return
		}
		writeResult(w, in, tools("", search, execute))
	}
}

func TestKnownCanaryIsOneRequestAndIsKept(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure)
	require.Zero(t, got.Forgotten)
	require.Equal(t, f.target(canary).Canary, got.Session)
	require.Equal(t, []string{methodList}, f.methods())
	require.Equal(t, []string{mcpprobe.StepToolsList}, stepNames(got))
	require.Equal(t, &mcpprobe.ServerInfo{Name: "fake", Version: "7"}, got.Trace.Server)
	seen := f.requests()[0].Header
	require.Equal(t, "session-of-earlier", seen.Get("Mcp-Session-Id"))
	require.Equal(t, "2025-06-18", seen.Get("Mcp-Protocol-Version"))
	require.Equal(t, "Bearer "+bearer, seen.Get("Authorization"))
}

func TestKnownCanaryIsAskedOverAnEventStreamAsWell(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, events(func(in request, n int) (string, bool) {
		if n == 0 {
			return "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n", true
		}
		return "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + string(in.ID) + ",\ndata: \"result\":" +
			tools("", search, execute) + "}\n\n", n < 1
	}))
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure)
	require.Equal(t, []string{methodList}, f.methods())
}

func TestRequestIDsOfACanaryDifferFromProbeToProbe(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	mcpprobe.Probe(t.Context(), f.target(canary))
	mcpprobe.Probe(t.Context(), f.target(canary))
	seen := f.requests()
	require.Len(t, seen, 2)
	require.NotEqual(t, seen[0].ID, seen[1].ID)
}

func TestCanaryThatIsNotToBeKeptIsEndedOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target(canary, func(t *mcpprobe.Target) { t.KeepSession = false }))
	require.Nil(t, got.Failure)
	require.Nil(t, got.Session)
	require.Equal(t, []string{methodList, methodDelete}, f.methods())
	require.Equal(t, "session-of-earlier", f.requests()[1].Header.Get("Mcp-Session-Id"))
}

func TestRefusedCanaryIsForgottenOnceANewSessionSucceeds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		refuse    func(http.ResponseWriter, *http.Request, request)
		forgotten int
	}{
		{"404", status(404, ""), 404},
		{"400", status(400, "Bad Request: No valid session ID provided"), 400},
		{"422", status(422, "expect initialize"), 422},
		{"410", status(410, ""), 410},
		{"503 that speaks of the session", status(503, "Unknown session"), 503},
		{"json-rpc error", rpcError(-32000, "Server not initialized"), 200},
		{"json-rpc error without id", func(w http.ResponseWriter, _ *http.Request, _ request) {
			writeMessage(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
		}, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, forgetting(tc.refuse))
			got := mcpprobe.Probe(t.Context(), f.target(canary))
			require.Nil(t, got.Failure)
			require.Equal(t, tc.forgotten, got.Forgotten)
			require.Equal(t, &mcpprobe.Session{
				ID: "session-of-fake-1", ProtocolVersion: "2025-06-18", ServerName: "fake", ServerVersion: "7",
			}, got.Session)
			require.Equal(t, []string{methodList, methodInit, methodNotice, methodList}, f.methods())
			require.Equal(t, []string{
				mcpprobe.StepToolsList, mcpprobe.StepInitialize, mcpprobe.StepInitializedNotice, mcpprobe.StepToolsList,
			}, stepNames(got))
			require.False(t, got.Trace.Steps[0].OK)
		})
	}
}

func TestCanaryThatIsAlwaysAServersFaultIsForgotten(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, forgetting(status(500, "")))
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure)
	require.Equal(t, 500, got.Forgotten)
	require.Equal(t, []int{500, 200, 202, 200, 500}, stepStatuses(got))
	require.Equal(t, "session-of-fake-1", got.Session.ID)
}

func TestCanaryOutlivesAPassingServersFault(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	first := true
	f.on(methodList, forgetting(func(w http.ResponseWriter, r *http.Request, in request) {
		if first {
			first = false
			status(502, "")(w, r, in)
			return
		}
		writeResult(w, in, tools("", search, execute))
	}))
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure)
	require.Zero(t, got.Forgotten)
	require.Equal(t, "session-of-earlier", got.Session.ID)
	seen := f.requests()
	require.Equal(t, methodDelete, seen[len(seen)-1].Method)
	require.Equal(t, "session-of-fake-1", seen[len(seen)-1].Header.Get("Mcp-Session-Id"))
}

func TestCanaryIsNotForgottenWhileEverythingIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []int{400, 404, 502, 503} {
		f := newFake(t).on(methodList, status(tc, "")).on(methodInit, status(tc, ""))
		got := mcpprobe.Probe(t.Context(), f.target(canary))
		requireFailure(t, got, health.CodeToolsMissing, tc >= 500)
		require.Zero(t, got.Forgotten)
		require.Equal(t, "session-of-earlier", got.Session.ID)
	}
}

func TestCanaryIsNotForgottenByAnAnswerAboutSomethingElse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request, request)
		code   health.Code
		retry  bool
	}{
		{"401", status(401, ""), health.CodeInvalidToken, false},
		{"403", status(403, ""), health.CodeWrongResource, false},
		{"429", status(429, ""), health.CodeToolsMissing, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, tc.answer)
			got := mcpprobe.Probe(t.Context(), f.target(canary))
			requireFailure(t, got, tc.code, tc.retry)
			require.Zero(t, got.Forgotten)
			require.Equal(t, "session-of-earlier", got.Session.ID)
			require.Equal(t, []string{methodList}, f.methods())
		})
	}
}

func TestCanaryIsKeptWhileTheEndpointIsUnreachable(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Close()
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	requireFailure(t, got, health.CodeProbeUnreachable, true)
	require.True(t, got.Unreachable)
	require.Equal(t, "session-of-earlier", got.Session.ID)
}

func TestEndpointWithoutSessionsGivesNoCanary(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodInit, result(`{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) { t.KeepSession = true }))
	require.Nil(t, got.Failure)
	require.Nil(t, got.Session)
	require.Equal(t, "2025-03-26", got.Trace.ProtocolVersion)
	require.NotContains(t, f.methods(), methodDelete)
}

func TestCanaryIsKeptWhenItCannotBeAskedAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	answers := []func(http.ResponseWriter, *http.Request, request){status(502, ""), status(429, "")}
	f.on(methodList, forgetting(func(w http.ResponseWriter, r *http.Request, in request) {
		answers[0](w, r, in)
		answers = answers[1:]
	}))
	got := mcpprobe.Probe(t.Context(), f.target(canary))
	require.Nil(t, got.Failure)
	require.Zero(t, got.Forgotten)
	require.Equal(t, "session-of-earlier", got.Session.ID)
	require.Contains(t, f.methods(), methodDelete)
}
