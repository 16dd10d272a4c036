package catalog_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

// BenchmarkCall compares calls through the catalog with those of a bare client: by one caller, and by 16 at once.
func BenchmarkCall(b *testing.B) {
	for name, options := range map[string]upstream.Options{"json": {JSON: true}, "events": {}, "modern": {Stateless: true}} {
		b.Run(name, func(b *testing.B) { compare(b, start(b, options)) })
	}
}

func compare(b *testing.B, server *upstream.Server) {
	b.Helper()
	for _, callers := range []int{1, 16} {
		b.Run(fmt.Sprintf("bare-%d", callers), func(b *testing.B) {
			client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
			session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{
				Endpoint: server.URL(), DisableStandaloneSSE: true,
			}, nil)
			require.NoError(b, err)
			defer session.Close()
			share(b, callers, func() error {
				_, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: upstream.Echo, Arguments: json.RawMessage(`{"text":"hello"}`)})
				return err
			})
		})
		for _, tool := range []string{upstream.Echo, upstream.Put} {
			b.Run(fmt.Sprintf("catalog-%s-%d", tool, callers), func(b *testing.B) {
				sources := open(b, server)
				share(b, callers, func() error {
					_, err := sources.Call(b.Context(), catalog.CallRequest{
						Address: "up." + tool, Arguments: json.RawMessage(`{"text":"hello","name":"a"}`), Key: "k",
					})
					return err
				})
			})
		}
	}
}

// BenchmarkBig compares answers of 10 MiB.
func BenchmarkBig(b *testing.B) {
	server := start(b, upstream.Options{JSON: true})
	b.Run("bare", func(b *testing.B) {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), &mcp.StreamableClientTransport{
			Endpoint: server.URL(), DisableStandaloneSSE: true,
		}, nil)
		require.NoError(b, err)
		defer session.Close()
		share(b, 1, func() error {
			_, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: upstream.Big, Arguments: json.RawMessage(`{"bytes":10485760}`)})
			return err
		})
	})
	b.Run("catalog", func(b *testing.B) {
		sources := open(b, server)
		share(b, 1, func() error {
			_, err := sources.Call(b.Context(), catalog.CallRequest{Address: "up.big", Arguments: json.RawMessage(`{"bytes":10485760}`)})
			return err
		})
	})
}

func share(b *testing.B, callers int, call func() error) {
	b.Helper()
	require.NoError(b, call())
	b.ResetTimer()
	b.ReportAllocs()
	var working sync.WaitGroup
	for n := range callers {
		working.Go(func() {
			for i := n; i < b.N; i += callers {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
}
