package contract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

var unable = failed("cloud", "SSE error: Unable to connect. Is the computer able to access the url?")

// hanging starts a server that answers nothing, and a push to it that has arrived there and fails when it is stopped.
func hanging(t *testing.T, s *site) (*simulator.Endpoint, push) {
	t.Helper()
	up := endpoint(t, simulator.EndpointOptions{})
	up.Inject(simulator.AnyRequest, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	under := s.push(t, "cloud", remote(up.URL(), 20_000))
	testkit.Eventually(t, patience, func() bool { return up.Count("initialize") == 1 }, "the push is under way")
	return up, under
}

func checkDisabledWhilePushed(t *testing.T, s *site) {
	up, under := hanging(t, s)
	require.JSONEq(t, disabled("cloud"), s.status(t))
	up.Stop()
	require.JSONEq(t, unable, under.wait(t))
}

func checkOldStatusWhilePushed(t *testing.T, s *site) {
	withResources(t, s, 0)
	up, under := hanging(t, s)
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"), "the old client still works")
	up.Stop()
	require.JSONEq(t, unable, under.wait(t))
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"), "and is closed by the failure")
}

func checkFailedPushDestroys(t *testing.T, s *site) {
	withResources(t, s, 0)
	dead := endpoint(t, simulator.EndpointOptions{})
	dead.Stop()
	require.Contains(t, s.register(t, "cloud", remote(dead.URL(), 5000)), "failed")
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
}

func checkLateFailure(t *testing.T, s *site) {
	up, abandoned := hanging(t, s)
	abandoned.abandon()
	withResources(t, s, 0)
	require.JSONEq(t, connected("cloud"), s.status(t))
	up.Stop()
	testkit.Eventually(t, patience, func() bool { return sameJSON(s.status(t), unable) },
		"the abandoned push fails in the end and takes the healthy client with it")
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
}

func checkLateSuccess(t *testing.T, s *site) {
	old := endpoint(t, simulator.EndpointOptions{Resources: []string{"old://a"}})
	release := make(chan struct{})
	old.Inject("initialize", 1, simulator.Fault{Until: release})
	abandoned := s.push(t, "cloud", remote(old.URL(), 20_000))
	testkit.Eventually(t, patience, func() bool { return old.Count("initialize") == 1 }, "the push is under way")
	abandoned.abandon()
	withResources(t, s, 0)
	close(release)
	want := `{"cloud:old://a":{"name":"old://a","uri":"old://a","client":"cloud"}}`
	testkit.Eventually(t, patience, func() bool { return sameJSON(s.get(t, "/experimental/resource"), want) },
		"the abandoned push succeeds in the end and replaces the newer client")
}

func checkDisposeDuringPush(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	release := make(chan struct{})
	up.Inject("initialize", 1, simulator.Fault{Until: release})
	under := s.push(t, "cloud", remote(up.URL(), 20_000))
	testkit.Eventually(t, patience, func() bool { return up.Count("initialize") == 1 }, "the push is under way")
	s.post(t, "/instance/dispose")
	close(release)
	require.JSONEq(t, connected("cloud"), under.wait(t))
	require.JSONEq(t, `{}`, s.status(t))
}
