package testkit_test

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestTheEverythingServerServesAndComesBack(t *testing.T) {
	t.Parallel()
	server := testkit.EverythingServer(t)
	for range 2 {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.MCPURL()}, nil)
		require.NoError(t, err)
		tools, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.NotEmpty(t, tools.Tools)
		_ = session.Close()
		server.Kill()
		server.Restart()
	}
}
