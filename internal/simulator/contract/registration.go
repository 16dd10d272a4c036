package contract

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const short = 700 // ms, the timeout of registrations that are meant to run into it

// registrationCases is what becomes of POST /mcp.
func registrationCases() map[string]func(*testing.T, *site) {
	return map[string]func(*testing.T, *site){
		"a healthy server is connected in four requests": checkHandshake,
		"an event-stream server is connected":            checkEventStreamServer,
		"a failing attempt makes two upstream requests":  checkTwoRequests,
		"every fault has its text":                       checkFaultTexts,
		"bad addresses are refused unseen":               checkBadAddresses,
		"nobody listening is unable to connect": func(t *testing.T, s *site) {
			up := endpoint(t, simulator.EndpointOptions{})
			up.Stop()
			require.JSONEq(t, failed("cloud", "SSE error: Unable to connect. Is the computer able to access the url?"),
				s.register(t, "cloud", remote(up.URL(), 5000)))
		},
		"401 with OAuth left on needs auth": func(t *testing.T, s *site) {
			up := endpoint(t, simulator.EndpointOptions{Token: "right"})
			config := remote(up.URL(), 5000)
			delete(config, "oauth")
			require.JSONEq(t, `{"cloud":{"status":"needs_auth"}}`, s.register(t, "cloud", config))
		},
		"enabled false closes without an upstream request": checkEnabledFalse,
		"a hanging server is held twice the timeout":       checkHangingServer,
		"a body that never ends fails with the second try": checkHangingBody,
		"a tool list that hangs or fails fails the push":   checkToolListFaults,
		"a new name reads as disabled while it is pushed":  checkDisabledWhilePushed,
		"a known name keeps its status while it is pushed": checkOldStatusWhilePushed,
		"a failed push destroys the connected client":      checkFailedPushDestroys,
		"a late failure kills a newer healthy client":      checkLateFailure,
		"a late success replaces a newer client":           checkLateSuccess,
		"a dispose during a push makes its answer a lie":   checkDisposeDuringPush,
	}
}

func checkHandshake(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{Token: "secret"})
	config := remote(up.URL(), 5000)
	config["headers"] = map[string]string{"Authorization": "Bearer secret"}
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", config))
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.Equal(t, 1, up.Count("initialize"))
	require.Equal(t, 1, up.Count("notifications/initialized"))
	require.Equal(t, 1, up.Count("tools/list"))
	testkit.Eventually(t, patience, func() bool { return up.Count(simulator.GetStream) == 1 }, "a stream is tried")
}

func checkEventStreamServer(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{SSE: true})
	require.JSONEq(t, connected("cloud"), s.register(t, "cloud", remote(up.URL(), 5000)))
	testkit.Eventually(t, patience, func() bool { return up.Streams() == 1 }, "a stream is held")
}

func checkTwoRequests(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{Token: "right"})
	config := remote(up.URL(), 5000)
	config["headers"] = map[string]string{"Authorization": "Bearer wrong"}
	require.JSONEq(t, failed("cloud", "SSE error: Non-200 status code (401)"), s.register(t, "cloud", config))
	require.Equal(t, 1, up.Count("initialize"))
	require.Equal(t, 1, up.Count(simulator.GetStream))
	require.Equal(t, 2, up.Count(simulator.AnyRequest))
}

func checkFaultTexts(t *testing.T, s *site) {
	const notStream = `SSE error: Invalid content type, expected "text/event-stream"`
	cases := map[string]struct {
		fault simulator.Fault
		text  string
	}{
		"html": {simulator.AnswerHTML(http.StatusOK), notStream},
		"broken": {
			simulator.Fault{Status: http.StatusOK, Body: `{"jsonrpc":`}, notStream,
		},
		"reset": {
			simulator.Fault{Reset: true}, "SSE error: The socket connection was closed unexpectedly. " +
				"For more information, pass `verbose: true` in the second argument to fetch()",
		},
	}
	for _, status := range []int{401, 403, 404, 500, 502, 503} {
		cases[fmt.Sprint(status)] = struct {
			fault simulator.Fault
			text  string
		}{simulator.AnswerStatus(status), fmt.Sprintf("SSE error: Non-200 status code (%d)", status)}
	}
	up := endpoint(t, simulator.EndpointOptions{})
	for name, tc := range cases {
		up.ClearFaults()
		up.Inject(simulator.AnyRequest, simulator.Always, tc.fault)
		s.post(t, "/instance/dispose")
		require.JSONEq(t, failed("cloud", tc.text), s.register(t, "cloud", remote(up.URL(), 5000)), name)
		require.JSONEq(t, failed("cloud", tc.text), s.status(t), name)
	}
}

func checkBadAddresses(t *testing.T, s *site) {
	for _, address := range []string{"not a url", "", "/mcp/agent", "http://127.0.0.1:99999/mcp"} {
		require.JSONEq(t, failed("cloud", `Invalid MCP URL for "cloud"`),
			s.register(t, "cloud", remote(address, 5000)), address)
	}
	require.JSONEq(t, failed("cloud", "SSE error: protocol must be http:, https: or s3:"),
		s.register(t, "cloud", remote("ftp://127.0.0.1/mcp", 5000)))
}

func checkEnabledFalse(t *testing.T, s *site) {
	up := withResources(t, s, 0)
	before := up.Count(simulator.AnyRequest)
	config := remote(up.URL(), 5000)
	config["enabled"] = false
	require.JSONEq(t, disabled("cloud"), s.register(t, "cloud", config))
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
	require.Equal(t, before, up.Count(simulator.AnyRequest))
}

func checkHangingServer(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	up.Inject(simulator.AnyRequest, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	require.JSONEq(t, failed("cloud", fmt.Sprintf("Operation timed out after %dms", short)),
		s.register(t, "cloud", remote(up.URL(), short)))
	require.Equal(t, 1, up.Count("initialize"))
	require.Equal(t, 1, up.Count(simulator.GetStream))
}

func checkHangingBody(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	up.Inject("initialize", simulator.Always, simulator.Fault{Hang: simulator.HangBody, Body: `{"jsonrpc":`})
	require.JSONEq(t, failed("cloud", "SSE error: Non-200 status code (405)"),
		s.register(t, "cloud", remote(up.URL(), short)))
}

func checkToolListFaults(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	for _, fault := range []simulator.Fault{
		{Hang: simulator.HangHeaders},
		simulator.AnswerStatus(http.StatusInternalServerError),
		simulator.AnswerStatus(http.StatusUnauthorized),
	} {
		up.ClearFaults()
		up.Inject("tools/list", simulator.Always, fault)
		require.JSONEq(t, failed("cloud", "Failed to get tools"), s.register(t, "cloud", remote(up.URL(), short)))
	}
}
