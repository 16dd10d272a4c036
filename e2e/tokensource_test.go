package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// TestAReplacedTokenFileReachesTheEngine replaces the file of a token, as who renews it does: before the endpoint knows of
// it, after that, and while the connection has already failed for it.
func TestAReplacedTokenFileReachesTheEngine(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{Token: "first"})
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(token+"\n"), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write("first")
	s.key = s.Apply(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
		TimeoutMillis: 2000, TokenSource: &desired.TokenSource{Kind: desired.SourceFile, Path: file},
	})
	s.AwaitState(s.key, delivery.Ready, soon)

	write("second")
	s.Await(s.key, late, "the endpoint refuses what nobody gave it", func(got connection.Snapshot) bool {
		return got.Token != nil && got.Token.Failure != nil
	})
	require.Equal(t, delivery.Ready, s.Snapshot(s.key).State, "the delivered token still works")
	require.Equal(t, health.CodeInvalidToken, s.Snapshot(s.key).Token.Failure.Code)

	s.endpoint.Rotate("second")
	s.awaitDelivered("Bearer second")

	s.endpoint.Rotate("third")
	s.AwaitState(s.key, delivery.Failed, late)
	write("third")
	s.awaitDelivered("Bearer third")
}

// awaitDelivered waits until the connection is ready with what the engine was given last.
func (s *simulated) awaitDelivered(authorization string) {
	s.TB.Helper()
	testkit.Eventually(s.TB, late, func() bool {
		given := s.engine.Registrations(s.key.Directory)
		headers, _ := given[len(given)-1].Config["headers"].(map[string]any)
		return headers["Authorization"] == authorization && s.Snapshot(s.key).State == delivery.Ready
	}, "delivered: "+authorization)
}
