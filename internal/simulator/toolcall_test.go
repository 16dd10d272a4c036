package simulator_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const (
	directory = "/srv/a"
	tool      = "search_capabilities"
	isUp      = `{"cloud":{"status":"connected"}}`
)

// registered is an engine with one connected server.
func registered(t *testing.T, options simulator.EndpointOptions, more string) (*simulator.Engine, *simulator.Endpoint) {
	t.Helper()
	engine, endpoint := newEngine(t, simulator.EngineOptions{}), newEndpoint(t, options)
	require.JSONEq(t, isUp, register(t, engine, directory, remote(endpoint, more)))
	return engine, endpoint
}

func TestAToolCallReachesTheEndpoint(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]simulator.EndpointOptions{"json": {}, "event stream": {SSE: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, endpoint := registered(t, options, "")
			text, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
			require.NoError(t, err)
			require.Equal(t, "called "+tool, text)
			require.Equal(t, 1, endpoint.Count("tools/call"))
		})
	}
}

func TestAToolCallFailsInTheEnginesWordsAndTheStatusStays(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ruin func(*testing.T, *simulator.Endpoint)
		text string
	}{
		"server dead": {
			func(_ *testing.T, e *simulator.Endpoint) { e.Stop() },
			"Unable to connect. Is the computer able to access the url?",
		},
		"session lost with 400": {
			func(t *testing.T, e *simulator.Endpoint) {
				t.Helper()
				e.SetLostStatus(http.StatusBadRequest)
				require.NoError(t, e.Restart())
			},
			`Streamable HTTP error: Error POSTing to endpoint: {"error":{"code":-32000,` +
				`"message":"Bad Request: No valid session ID provided"},"id":null,"jsonrpc":"2.0"}`,
		},
		"bearer rotated": {
			func(_ *testing.T, e *simulator.Endpoint) { e.Rotate("new") },
			`Streamable HTTP error: Error POSTing to endpoint: {"error":"unauthorized"}`,
		},
		"connection reset": {
			func(_ *testing.T, e *simulator.Endpoint) {
				e.Inject("tools/call", simulator.Always, simulator.Fault{Reset: true})
			},
			"The socket connection was closed unexpectedly. For more information, pass `verbose: true` " +
				"in the second argument to fetch()",
		},
		"call hangs": {
			func(_ *testing.T, e *simulator.Endpoint) {
				e.Inject("tools/call", simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
			},
			"MCP error -32001: Request timed out",
		},
		"tool gone": {
			func(_ *testing.T, e *simulator.Endpoint) { e.SetTools("other") },
			"MCP error -32602: Unknown tool: " + tool,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := `,"timeout":20000`
			if name == "call hangs" {
				timeout = `,"timeout":1500`
			}
			engine, endpoint := registered(t, simulator.EndpointOptions{}, timeout)
			tc.ruin(t, endpoint)
			_, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
			require.EqualError(t, err, tc.text)
			require.JSONEq(t, isUp, get(t, engine, "/mcp", directory))
		})
	}
}

func TestASessionLostWith404IsHealedWithinTheCall(t *testing.T) {
	t.Parallel()
	engine, endpoint := registered(t, simulator.EndpointOptions{}, "")
	require.NoError(t, endpoint.Restart())
	_, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
	require.NoError(t, err)
	require.Equal(t, 1, endpoint.Sessions())
}

func TestAReRegistrationBreaksTheCallUnderWay(t *testing.T) {
	t.Parallel()
	engine, endpoint := registered(t, simulator.EndpointOptions{}, "")
	endpoint.Inject("tools/call", 1, simulator.Fault{Hang: simulator.HangHeaders})
	failed := make(chan error, 1)
	go func() {
		_, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
		failed <- err
	}()
	testkit.Eventually(t, patience, func() bool { return endpoint.Count("tools/call") == 1 }, "the call is under way")
	register(t, engine, directory, remote(endpoint, ""))
	require.EqualError(t, <-failed, "MCP error -32000: Connection closed")
	_, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
	require.NoError(t, err)
}

func TestToolsOfAServerThatIsNotConnectedAreNotOffered(t *testing.T) {
	t.Parallel()
	engine, _ := registered(t, simulator.EndpointOptions{}, "")
	engine.Dispose(directory)
	_, err := engine.ToolCall(t.Context(), directory, "cloud", tool)
	require.ErrorIs(t, err, simulator.ErrNotOffered)
}
