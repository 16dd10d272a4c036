package catalog_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

// The first call of a source opens its session, within the call of somebody who may speak another protocol than the source.
func TestASourceIsSpokenToInItsOwnProtocolWhateverTheCallerSpeaks(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{upstream.Echo, upstream.Put} {
		for era, options := range eras {
			t.Run(tool+" "+era, func(t *testing.T) {
				t.Parallel()
				sources := open(t, start(t, options))
				gateway := mcp.NewServer(&mcp.Implementation{Name: "gateway", Version: "1"}, nil)
				gateway.AddTool(&mcp.Tool{Name: "call", InputSchema: json.RawMessage(`{"type":"object"}`)},
					func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						got, err := sources.Call(ctx, catalog.CallRequest{
							Address: "up." + tool, Arguments: json.RawMessage(`{"name":"a","text":"a"}`), Elicit: accepting("x"),
						})
						if err != nil {
							return nil, err
						}
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(got.Result)}}}, nil
					})
				served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return gateway },
					&mcp.StreamableHTTPOptions{Stateless: true}))
				t.Cleanup(served.Close)
				for _, protocol := range []string{"2026-07-28", "2025-11-25"} {
					client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
						&mcp.StreamableClientTransport{Endpoint: served.URL}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
					require.NoError(t, err)
					result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "call"})
					require.NoError(t, err)
					require.False(t, result.IsError, "%v", result.Content[0])
					require.NoError(t, client.Close())
				}
			})
		}
	}
}
