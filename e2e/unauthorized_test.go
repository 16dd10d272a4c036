//go:build soak

package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

const (
	// refusedFor is how long an endpoint that refuses the credential is watched.
	refusedFor = 3 * time.Minute
	// dialsAnHour is what such an endpoint may be bothered with, by us and by the engine together.
	dialsAnHour = 15
	// slowProbes is how often an hour it is asked whether the credential is good again.
	slowProbes = 4
)

// TestARefusedCredentialIsNotHammeredByARealEngine counts every request that an endpoint gets from us and from a real
// engine: those of the minutes in which the refusal is found out are few, and then comes one probe in a quarter of an hour.
func TestARefusedCredentialIsNotHammeredByARealEngine(t *testing.T) {
	t.Parallel()
	endpoint := scripted(t, simulator.EndpointOptions{Token: "the-right-one"})
	r := newReal(t, engineOfItsOwn(t), stack.Options{})
	want := r.want(endpoint.URL())
	want.Headers = map[string]string{"Authorization": "Bearer the-wrong-one"}
	key := r.Apply(want)
	failed := r.AwaitState(key, delivery.Failed, unhurried)
	require.Equal(t, health.CodeInvalidToken, failed.Failure.Code)

	found := endpoint.Count(simulator.AnyRequest)
	began := time.Now()
	testkit.Eventually(t, refusedFor+unhurried, func() bool { return time.Since(began) >= refusedFor }, "the time is over")
	after := endpoint.Count(simulator.AnyRequest) - found
	t.Logf("requests: %d until the refusal was known (initialize %d, GET %d), %d in the %s after it",
		found, endpoint.Count("initialize"), endpoint.Count(simulator.GetStream), after, refusedFor)
	require.Equal(t, health.CodeInvalidToken, r.Snapshot(key).Failure.Code)
	// What finds out the refusal happens once; what goes on is the slow probe, at most one in these minutes.
	require.LessOrEqual(t, after, 1)
	require.LessOrEqual(t, found+slowProbes, dialsAnHour)
}
