package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

// TestNoCallFailsWhileATokenIsRenewedThreeTimes has a model call a tool about every 200 ms through a real engine, while the
// token that the endpoint asks for lives 20 s and is renewed by its source.
func TestNoCallFailsWhileATokenIsRenewedThreeTimes(t *testing.T) {
	t.Parallel()
	const (
		lifetime = 20 * time.Second
		renewals = 3
	)
	tokens, err := simulator.NewTokenServer(simulator.TokenServerOptions{Lifetime: lifetime})
	require.NoError(t, err)
	t.Cleanup(tokens.Close)
	endpoint, err := simulator.NewEndpoint(simulator.EndpointOptions{Authorize: tokens.Live})
	require.NoError(t, err)
	t.Cleanup(endpoint.Close)
	model, err := simulator.NewModel(simulator.ModelOptions{Tool: "cloud_search_capabilities"})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	engines <- struct{}{}
	t.Cleanup(func() { <-engines })
	engine := testkit.RealEngineWith(t, model.Configuration())
	r := newReal(t, engine, stack.Options{})
	want := r.want(endpoint.URL())
	want.TokenSource = &desired.TokenSource{
		Kind: desired.SourceClientCredentials, TokenURL: tokens.URL(), ClientID: "client", ClientSecret: "s3cret",
	}
	user := testkit.NewEngineUser(t, engine.BaseURL(), want.Directory)
	key, first := r.deliver(want)
	require.NotNil(t, first.Token.ExpiresAt)

	drive := user.Drive(testkit.DriveOptions{Every: 200 * time.Millisecond, Even: true})
	testkit.Eventually(t, unhurried, func() bool { return tokens.Issued() > renewals }, "renewed three times")
	until := time.Now().Add(lifetime / 2)
	testkit.Eventually(t, unhurried, func() bool { return time.Now().After(until) }, "the token before has expired")
	report := drive.Stop()
	t.Logf("%d calls over %d tokens", report.Calls, tokens.Issued())
	require.Empty(t, report.Failures, "of %d calls: %s", report.Calls, r.History(key))
	require.Greater(t, report.Calls, 20, "too few to say anything")
	require.Equal(t, delivery.Ready, r.AwaitState(key, delivery.Ready, unhurried).State)
	require.Equal(t, renewals+1, tokens.Issued(), "one token for each renewal")
}
