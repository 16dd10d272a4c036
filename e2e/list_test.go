package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// TestAListIsOfWhatItsFilterNames holds the filters against names that mean something to the server's own language.
func TestAListIsOfWhatItsFilterNames(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	unique := testkit.UniqueName()
	names := []string{unique + `\`, unique + `'`, unique + `\' OR Workspace != "a" -- `, unique + `"`}
	for _, workspace := range names {
		s.key = s.Apply(stack.Want{
			Workspace: workspace, Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(), TimeoutMillis: 2000,
		})
		s.AwaitState(s.key, delivery.Ready, late)
	}
	for _, workspace := range names {
		testkit.Eventually(t, late, func() bool {
			rows, err := s.Connections.List(t.Context(), connection.Filter{Workspace: workspace})
			require.NoError(t, err)
			return len(rows) == 1 && rows[0].Workspace == workspace
		}, "only the one of "+workspace)
	}
	for _, injected := range []string{`\' OR ExecutionStatus != "Running" -- `, `' OR WorkflowType != 'a`, `\`} {
		rows, err := s.Connections.List(t.Context(), connection.Filter{Name: injected})
		require.NoError(t, err)
		require.Empty(t, rows)
	}
}

func TestAPageThatWasNeverGivenOutIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	for _, token := range []string{"abc", "####", strings.Repeat("A", 400)} {
		_, _, err := s.Connections.ListPage(t.Context(), connection.Filter{}, connection.Page{Token: token})
		require.ErrorIs(t, err, connection.ErrBadPage)
	}
	_, _, err := s.Connections.ListPage(t.Context(), connection.Filter{}, connection.Page{Size: 101})
	require.ErrorIs(t, err, connection.ErrBadPage)
}
