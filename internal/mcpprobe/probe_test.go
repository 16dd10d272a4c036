package mcpprobe_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
)

const bearer = "CANARY-secret-7f3a9c"

func TestCase31GoodProbeHasThreeGoodStepsAndNamesTheServer(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	got := mcpprobe.Probe(t.Context(), f.target())
	require.Nil(t, got.Failure)
	require.True(t, got.Checked)
	require.False(t, got.Unreachable)
	require.Equal(t, []string{search, execute}, got.Present)
	require.Empty(t, got.Missing)
	require.Equal(t, 2, got.ToolCount)
	require.Nil(t, got.Session)
	require.Equal(t, &mcpprobe.ServerInfo{Name: "fake", Version: "7"}, got.Trace.Server)
	require.Equal(t, "2025-06-18", got.Trace.ProtocolVersion)
	require.Equal(t, f.URL+"/mcp/agent", got.Trace.Endpoint)
	require.Equal(t, []string{
		mcpprobe.StepInitialize, mcpprobe.StepInitializedNotice, mcpprobe.StepToolsList,
	}, stepNames(got))
	for _, step := range got.Trace.Steps {
		require.True(t, step.OK, step.Step)
		require.Empty(t, step.Error)
	}
	require.Equal(t, []int{200, 202, 200}, stepStatuses(got))
}

func TestCase32RefusedCredentialsAreOneStepAndAnAuthFailure(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		status int
		code   health.Code
		alias  string
	}{
		{http.StatusUnauthorized, health.CodeInvalidToken, health.AliasAuthInvalid},
		{http.StatusForbidden, health.CodeWrongResource, health.AliasResourceForbidden},
	} {
		t.Run(http.StatusText(tc.status), func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodInit, status(tc.status, `{"error":"session expired"}`))
			got := mcpprobe.Probe(t.Context(), f.target())
			requireFailure(t, got, tc.code, false)
			require.Equal(t, health.StageTransportAuth, got.Failure.Stage)
			require.Equal(t, []string{tc.alias}, got.Failure.Aliases)
			require.Equal(t, []int{tc.status}, stepStatuses(got))
			require.Equal(t, []string{search, execute}, got.Missing)
			require.Equal(t, []string{methodInit}, f.methods())
		})
	}
}

func TestRefusedCredentialsOnTheListAreAnAuthFailure(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, status(http.StatusUnauthorized, ""))
	got := mcpprobe.Probe(t.Context(), f.target())
	requireFailure(t, got, health.CodeInvalidToken, false)
	require.Equal(t, []int{200, 202, 401}, stepStatuses(got))
}

func TestCase33ServerFaultOnTheListIsRetryableAndTheNextProbeShakesHandsAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, status(http.StatusBadGateway, "<html>bad gateway</html>"))
	target := f.target(func(t *mcpprobe.Target) { t.KeepSession = true })
	got := mcpprobe.Probe(t.Context(), target)
	requireFailure(t, got, health.CodeToolsMissing, true)
	require.Nil(t, got.Session)
	require.Equal(t, []string{methodInit, methodNotice, methodList, methodDelete}, f.methods())

	f.on(methodList, result(tools("", search, execute)))
	target.Canary = got.Session
	got = mcpprobe.Probe(t.Context(), target)
	require.Nil(t, got.Failure)
	require.NotNil(t, got.Session)
	require.Equal(t, []string{methodInit, methodNotice, methodList}, f.methods()[4:])
}

func TestCase34MissingToolIsNamedAndNotRetryable(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, result(tools("", search, "other")))
	got := mcpprobe.Probe(t.Context(), f.target())
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Equal(t, []string{search}, got.Present)
	require.Equal(t, []string{execute}, got.Missing)
	require.Equal(t, 2, got.ToolCount)
	require.True(t, got.Trace.Steps[2].OK)
}

func TestMissingToolKeepsTheSession(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, result(tools("", search)))
	got := mcpprobe.Probe(t.Context(), f.target(func(t *mcpprobe.Target) { t.KeepSession = true }))
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Equal(t, "session-of-fake-1", got.Session.ID)
}

func TestCase36ErrorAnswerToTheListIsNotRetryable(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, rpcError(-32603, "boom"))
	got := mcpprobe.Probe(t.Context(), f.target())
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Equal(t, []string{search, execute}, got.Missing)
	require.Equal(t, []int{200, 202, 200}, stepStatuses(got))
	require.Contains(t, got.Trace.Steps[2].Error, "-32603")
}

func TestErrorAnswerToInitializeIsHonoured(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodInit, rpcError(-32602, "no such version"))
	got := mcpprobe.Probe(t.Context(), f.target())
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Equal(t, []string{methodInit}, f.methods())
}

func TestErrorAnswerWithoutAnIDDoesNotMakeTheProbeWait(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodInit, func(w http.ResponseWriter, _ *http.Request, _ request) {
		writeMessage(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`)
	})
	got := mcpprobe.Probe(t.Context(), f.target(within(time.Minute)))
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.Contains(t, got.Failure.Message, "-32600")
}

func TestStatusOfTheNoticeIsRecordedAndNeverFatal(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodNotice, status(http.StatusInternalServerError, ""))
	got := mcpprobe.Probe(t.Context(), f.target())
	require.Nil(t, got.Failure)
	require.Equal(t, []int{200, 500, 200}, stepStatuses(got))
	require.False(t, got.Trace.Steps[1].OK)
}

func TestStatusesOfTheListDecideTheOutcome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		status    int
		body      string
		code      health.Code
		retryable bool
	}{
		{"not found", 404, "404 page not found", health.CodeToolsMissing, false},
		{"bad request", 400, "bad request", health.CodeToolsMissing, false},
		{"unprocessable", 422, "", health.CodeToolsMissing, false},
		{"too many requests", 429, "", health.CodeToolsMissing, true},
		{"server error", 500, "", health.CodeToolsMissing, true},
		{"unavailable", 503, "", health.CodeToolsMissing, true},
		{"lost session, 404", 404, "session not found", health.CodeSessionLost, true},
		{
			"lost session, 400", 400,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`,
			health.CodeSessionLost, true,
		},
		{"lost session, 503", 503, `{"detail":"Unknown session"}`, health.CodeSessionLost, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(methodList, status(tc.status, tc.body))
			got := mcpprobe.Probe(t.Context(), f.target())
			requireFailure(t, got, tc.code, tc.retryable)
			require.Equal(t, []int{200, 202, tc.status}, stepStatuses(got))
		})
	}
}

func TestAnswersThatAreNoMCPAreNotRetryable(t *testing.T) {
	t.Parallel()
	html := func(w http.ResponseWriter, _ *http.Request, _ request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>welcome</html>"))
	}
	for _, tc := range []struct {
		name   string
		method string
		answer func(http.ResponseWriter, *http.Request, request)
	}{
		{"html to initialize", methodInit, html},
		{"html to the list", methodList, html},
		{"nothing", methodList, status(http.StatusOK, "")},
		{"broken json", methodList, func(w http.ResponseWriter, _ *http.Request, _ request) { writeMessage(w, `{"jso`) }},
		{"no object", methodList, result(`[]`)},
		{"no tools", methodList, result(`{}`)},
		{"tools null", methodList, result(`{"tools":null}`)},
		{"tools no list", methodList, result(`{"tools":7}`)},
		{"unknown protocol version", methodInit, result(`{"protocolVersion":"1999-01-01","capabilities":{}}`)},
		{"stream without an answer", methodList, events(func(request, int) (string, bool) { return ": hi\n\n", false })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).on(tc.method, tc.answer)
			got := mcpprobe.Probe(t.Context(), f.target())
			requireFailure(t, got, health.CodeToolsMissing, false)
			require.False(t, got.Unreachable)
			require.Equal(t, []string{search, execute}, got.Missing)
			require.False(t, got.Trace.Steps[len(got.Trace.Steps)-1].OK)
		})
	}
}

func TestNoExpectationMeansAtLeastOneTool(t *testing.T) {
	t.Parallel()
	f := newFake(t).on(methodList, result(tools("", "one", "two")))
	anyTool := func(t *mcpprobe.Target) { t.Expected = nil }
	got := mcpprobe.Probe(t.Context(), f.target(anyTool))
	require.Nil(t, got.Failure)
	require.Equal(t, []string{"one", "two"}, got.Present)

	f.on(methodList, result(`{"tools":[]}`))
	got = mcpprobe.Probe(t.Context(), f.target(anyTool))
	requireFailure(t, got, health.CodeToolsMissing, false)
	require.NotNil(t, got.Missing)
}

func TestTargetWithoutUsableURLIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, tc := range []string{"", "not a url", "ftp://x/mcp", "http://", "http://user:pw@127.0.0.1:1/mcp"} {
		got := mcpprobe.Probe(t.Context(), mcpprobe.Target{URL: tc, Expected: []string{search}})
		requireFailure(t, got, health.CodeToolsMissing, false)
		require.Empty(t, got.Trace.Steps)
		require.Equal(t, []string{search}, got.Missing)
	}
}

func requireFailure(t *testing.T, got mcpprobe.Result, code health.Code, retryable bool) {
	t.Helper()
	require.NotNil(t, got.Failure)
	require.Equal(t, code, got.Failure.Code, got.Failure.Message)
	require.Equal(t, retryable, got.Failure.Retryable)
	require.Equal(t, code != health.CodeProbeUnreachable, got.Checked)
	require.NotEmpty(t, got.Failure.Message)
}

func stepNames(got mcpprobe.Result) []string {
	names := []string{}
	for _, step := range got.Trace.Steps {
		names = append(names, step.Step)
	}
	return names
}

func stepStatuses(got mcpprobe.Result) []int {
	statuses := []int{}
	for _, step := range got.Trace.Steps {
		statuses = append(statuses, step.HTTPStatus)
	}
	return statuses
}
