package upstream_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func start(t *testing.T, options upstream.Options) *upstream.Server {
	t.Helper()
	server, err := upstream.Start(options)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func connect(t *testing.T, server *upstream.Server) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		}},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"value": r.Params.Message}}, nil
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL()}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func call(t *testing.T, session *mcp.ClientSession, name, key string, arguments map[string]any) string {
	t.Helper()
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	if key != "" {
		params.Meta = mcp.Meta{upstream.MetaKey: key}
	}
	result, err := session.CallTool(t.Context(), params)
	require.NoError(t, err)
	return result.Content[0].(*mcp.TextContent).Text
}

func TestToolsAnswerInBothProtocols(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]upstream.Options{"stateful": {}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			session := connect(t, server)
			require.Equal(t, "hello", call(t, session, upstream.Echo, "", map[string]any{"text": "hello"}))
			require.Equal(t, "wrote a", call(t, session, upstream.Put, "k", map[string]any{"name": "a", "value": "1"}))
			require.Equal(t, "wrote a", call(t, session, upstream.Put, "k", map[string]any{"name": "a", "value": "2"}))
			require.Equal(t, "What name? likes What colour?", call(t, session, upstream.AskTwice, "", nil))
			require.Equal(t, "page: accept", call(t, session, upstream.AskURL, "", nil))
			require.Len(t, call(t, session, upstream.Big, "", map[string]any{"bytes": 3000}), 3000)
			counts := server.Counts()
			require.Equal(t, map[string]int{"a": 2, "What name?": 1}, counts.Effects)
			require.Equal(t, map[string]int{"k": 2}, counts.Keys)
			require.Equal(t, []string{"accept", "accept", "accept"}, counts.Answers)
		})
	}
}

func TestAHonouredKeyHasOneEffect(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{HonoursKey: true})
	session := connect(t, server)
	require.Equal(t, "wrote a", call(t, session, upstream.Put, "k", map[string]any{"name": "a"}))
	require.Equal(t, "had a", call(t, session, upstream.Put, "k", map[string]any{"name": "a"}))
	require.Equal(t, "wrote a", call(t, session, upstream.Put, "other", map[string]any{"name": "a"}))
}

func TestAnotherProcessMayLookAndRelease(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	session := connect(t, server)
	done := make(chan error, 1)
	go func() {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: upstream.Slow, Arguments: map[string]any{"name": "g"}})
		done <- err
	}()
	testkit.Eventually(t, time.Minute, func() bool { return counts(t, server).Calls[upstream.Slow] == 1 }, "the call has begun")
	status, _ := request(t, http.MethodPost, server.Base()+"/release/g")
	require.Equal(t, http.StatusNoContent, status)
	require.NoError(t, <-done)
}

func TestForgottenSessionsAreNotFound(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	session := connect(t, server)
	server.Forget()
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: upstream.Echo, Arguments: map[string]any{"text": "x"}})
	require.Error(t, err)
	require.Zero(t, server.Counts().Calls[upstream.Echo])
}

func TestAnInterceptAnswersInPlaceOfTheServer(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	session := connect(t, server)
	server.Intercept(func(method string, w http.ResponseWriter, _ *http.Request) bool {
		if method != "tools/call" {
			return false
		}
		upstream.Cut(w)
		return true
	})
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: upstream.Echo, Arguments: map[string]any{"text": "x"}})
	require.Error(t, err)
	server.Intercept(nil)
	require.Equal(t, "x", call(t, session, upstream.Echo, "", map[string]any{"text": "x"}))
}

func request(t *testing.T, method, url string) (status int, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	response, err := (&http.Client{Timeout: time.Minute}).Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, body
}

func counts(t *testing.T, server *upstream.Server) upstream.Counts {
	t.Helper()
	_, body := request(t, http.MethodGet, server.Base()+"/counts")
	var counts upstream.Counts
	require.NoError(t, json.Unmarshal(body, &counts))
	return counts
}

func TestAServerClosesAlthoughNobodyAnswersItsQuestions(t *testing.T) {
	t.Parallel()
	server, err := upstream.Start(upstream.Options{})
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL(), MaxRetries: -1}, nil)
	require.NoError(t, err)
	server.Intercept(func(method string, w http.ResponseWriter, _ *http.Request) bool {
		if method != "notifications/cancelled" {
			return false
		}
		w.WriteHeader(http.StatusAccepted) // the caller is as good as killed: nobody hears that it has gone
		return true
	})
	leaving, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := session.CallTool(leaving, &mcp.CallToolParams{Name: upstream.AskTwice})
		gone <- err
	}()
	testkit.Eventually(t, time.Minute, func() bool { return server.Counts().Calls[upstream.AskTwice] == 1 }, "the tool asks")
	leave()
	require.Error(t, <-gone)
	server.Close()
}
