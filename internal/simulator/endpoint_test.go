package simulator_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// dial connects the official client, which is as strict as clients get.
func dial(t *testing.T, endpoint *simulator.Endpoint, notified chan<- struct{}) (*mcp.ClientSession, error) {
	t.Helper()
	options := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
		if notified != nil {
			notified <- struct{}{}
		}
	}}
	official := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := official.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint.URL(), MaxRetries: -1}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func TestTheOfficialClientIsServed(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]simulator.EndpointOptions{
		"json":         {PageSize: 1, Resources: []string{"demo://a"}},
		"event stream": {SSE: true, PageSize: 1, Resources: []string{"demo://a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := newEndpoint(t, options)
			session, err := dial(t, endpoint, nil)
			require.NoError(t, err)
			var names []string
			for each, err := range session.Tools(t.Context(), nil) {
				require.NoError(t, err)
				names = append(names, each.Name)
			}
			require.Equal(t, []string{"search_capabilities", "execute_capability"}, names)
			resources, err := session.ListResources(t.Context(), nil)
			require.NoError(t, err)
			require.Equal(t, "demo://a", resources.Resources[0].URI)
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_capabilities"})
			require.NoError(t, err)
			require.False(t, result.IsError)
			require.NoError(t, session.Ping(t.Context(), nil))
			require.Equal(t, 1, endpoint.Sessions())
			require.NoError(t, session.Close())
			require.Zero(t, endpoint.Sessions())
			require.Equal(t, 1, endpoint.Count(simulator.DeleteMethod))
		})
	}
}

func TestTheOfficialClientHearsOfAChangedToolList(t *testing.T) {
	t.Parallel()
	endpoint, notified := newEndpoint(t, simulator.EndpointOptions{SSE: true}), make(chan struct{}, 1)
	_, err := dial(t, endpoint, notified)
	require.NoError(t, err)
	testkit.Eventually(t, patience, func() bool { return endpoint.NotifyToolsChanged() == 1 }, "the stream is open")
	testkit.Eventually(t, patience, func() bool { return len(notified) == 1 }, "the client hears of it")
}

func TestALostSessionIsAnsweredAsScripted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status int
		lose   func(*simulator.Endpoint) error
	}{
		"forgotten, 404": {http.StatusNotFound, func(e *simulator.Endpoint) error { e.ForgetSessions(); return nil }},
		"restarted, 400": {http.StatusBadRequest, (*simulator.Endpoint).Restart},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := newEndpoint(t, simulator.EndpointOptions{LostStatus: tc.status})
			session := open(t, endpoint)
			require.Equal(t, http.StatusOK, rpc(t, endpoint, session, "ping").status)
			require.NoError(t, tc.lose(endpoint))
			require.Equal(t, tc.status, rpc(t, endpoint, session, "ping").status)
			require.Equal(t, http.StatusBadRequest, rpc(t, endpoint, "", "ping").status, "no session at all")
		})
	}
}

func TestAStoppedEndpointRemembersItsSessions(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, simulator.EndpointOptions{})
	session, address := open(t, endpoint), endpoint.URL()
	endpoint.Stop()
	_, err := client.Do(message(t, endpoint, session, "ping")) //nolint:bodyclose // there is none
	require.Error(t, err)
	require.NoError(t, endpoint.Start())
	require.Equal(t, address, endpoint.URL())
	require.Equal(t, http.StatusOK, rpc(t, endpoint, session, "ping").status)
}

func TestOnlyTheCurrentTokenIsAccepted(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, simulator.EndpointOptions{Token: "one"})
	for _, token := range []string{"", "two"} {
		request := message(t, endpoint, "", "initialize")
		request.Header.Set("Authorization", "Bearer "+token)
		answer := do(t, request)
		require.Equal(t, http.StatusUnauthorized, answer.status)
		require.Contains(t, answer.header.Get("WWW-Authenticate"), "Bearer")
	}
	endpoint.Rotate("two")
	request := message(t, endpoint, "", "initialize")
	request.Header.Set("Authorization", "Bearer two")
	require.Equal(t, http.StatusOK, do(t, request).status)
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, simulator.EndpointOptions{})
	session := open(t, endpoint)
	for name, tc := range map[string]struct {
		edit   func(*http.Request)
		status int
	}{
		"foreign origin":      {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"accepts JSON only":   {func(r *http.Request) { r.Header.Set("Accept", "application/json") }, 406},
		"unknown version":     {func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") }, 400},
		"unsupported method":  {func(r *http.Request) { r.Method = http.MethodPut }, 405},
		"stream not offered":  {func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"other path":          {func(r *http.Request) { r.URL.Path = "/other" }, 404},
		"nothing is the case": {func(*http.Request) {}, 200},
	} {
		request := message(t, endpoint, session, "ping")
		tc.edit(request)
		require.Equal(t, tc.status, do(t, request).status, name)
	}
}

func TestFaultsArePlayedInOrderAndDelayedAnswersStillCome(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, simulator.EndpointOptions{})
	session := open(t, endpoint)
	endpoint.Inject("ping", 1, simulator.Fault{Delay: 30 * time.Millisecond})
	endpoint.Inject("ping", 1, simulator.AnswerHTML(http.StatusBadGateway))
	endpoint.Inject(simulator.AnyRequest, 1, simulator.AnswerStatus(http.StatusServiceUnavailable))
	for _, want := range []int{200, 502, 503, 200} {
		require.Equal(t, want, rpc(t, endpoint, session, "ping").status)
	}
	endpoint.Inject("ping", simulator.Always, simulator.Fault{Hang: simulator.HangBody, Body: "{"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	response, err := client.Do(message(t, endpoint, session, "ping").WithContext(ctx))
	require.NoError(t, err, "the headers come")
	buffer := make([]byte, 8)
	read, _ := response.Body.Read(buffer)
	require.Equal(t, "{", string(buffer[:read]))
	_, err = response.Body.Read(buffer)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, response.Body.Close())
	endpoint.ClearFaults()
	require.Equal(t, http.StatusOK, rpc(t, endpoint, session, "ping").status)
}

func message(t *testing.T, endpoint *simulator.Endpoint, session, method string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint.URL(), strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{"protocolVersion":"2025-06-18"}}`))
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	if session != "" {
		request.Header.Set("Mcp-Session-Id", session)
	}
	return request
}

// answered is what is left of an answer when its body is closed.
type answered struct {
	status int
	header http.Header
}

func do(t *testing.T, request *http.Request) answered {
	t.Helper()
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return answered{response.StatusCode, response.Header}
}

func rpc(t *testing.T, endpoint *simulator.Endpoint, session, method string) answered {
	t.Helper()
	return do(t, message(t, endpoint, session, method))
}

// open initialises a session and returns its id.
func open(t *testing.T, endpoint *simulator.Endpoint) string {
	t.Helper()
	session := rpc(t, endpoint, "", "initialize").header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	return session
}
