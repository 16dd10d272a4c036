package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// hanging starts a server that answers nothing, and a push to it that has arrived there.
func hanging(t *testing.T, s *site, timeout int) (*simulator.Endpoint, push) {
	t.Helper()
	up := endpoint(t, simulator.EndpointOptions{})
	up.Inject(simulator.AnyRequest, simulator.Always, simulator.Fault{Hang: simulator.HangHeaders})
	under := s.push(t, "cloud", remote(up.URL(), timeout))
	testkit.Eventually(t, patience, func() bool { return up.Count("initialize") == 1 }, "the push is under way")
	return up, under
}

func checkDisabledWhilePushed(t *testing.T, s *site) {
	_, under := hanging(t, s, 1500)
	require.JSONEq(t, disabled("cloud"), s.status(t))
	require.Contains(t, under.wait(t), "Operation timed out")
}

func checkOldStatusWhilePushed(t *testing.T, s *site) {
	withResources(t, s, 0)
	_, under := hanging(t, s, 1500)
	require.JSONEq(t, connected("cloud"), s.status(t))
	require.JSONEq(t, demoResource, s.get(t, "/experimental/resource"), "the old client still works")
	require.Contains(t, under.wait(t), "Operation timed out")
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
	const timeout = 2000
	_, abandoned := hanging(t, s, timeout)
	abandoned.abandon()
	withResources(t, s, 0)
	require.JSONEq(t, connected("cloud"), s.status(t))
	want := failed("cloud", fmt.Sprintf("Operation timed out after %dms", timeout))
	testkit.Eventually(t, patience, func() bool { return sameJSON(s.status(t), want) },
		"the abandoned push fails in the end and takes the healthy client with it")
	require.JSONEq(t, `{}`, s.get(t, "/experimental/resource"))
}

func checkLateSuccess(t *testing.T, s *site) {
	old := endpoint(t, simulator.EndpointOptions{Resources: []string{"old://a"}})
	old.Inject("initialize", 1, simulator.Fault{Delay: 2 * time.Second})
	abandoned := s.push(t, "cloud", remote(old.URL(), 10_000))
	testkit.Eventually(t, patience, func() bool { return old.Count("initialize") == 1 }, "the push is under way")
	abandoned.abandon()
	withResources(t, s, 0)
	want := `{"cloud:old://a":{"name":"old://a","uri":"old://a","client":"cloud"}}`
	testkit.Eventually(t, patience, func() bool { return sameJSON(s.get(t, "/experimental/resource"), want) },
		"the abandoned push succeeds in the end and replaces the newer client")
}

func checkDisposeDuringPush(t *testing.T, s *site) {
	up := endpoint(t, simulator.EndpointOptions{})
	up.Inject("initialize", 1, simulator.Fault{Delay: time.Second})
	under := s.push(t, "cloud", remote(up.URL(), 10_000))
	testkit.Eventually(t, patience, func() bool { return up.Count("initialize") == 1 }, "the push is under way")
	s.post(t, "/instance/dispose")
	require.JSONEq(t, connected("cloud"), under.wait(t))
	require.JSONEq(t, `{}`, s.status(t))
}
