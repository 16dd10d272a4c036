package catalog_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

func TestConnectionsAreKeptFromCallToCall(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]upstream.Options{"json": {JSON: true}, "events": {}, "modern": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			sources := open(t, server)
			var mu sync.Mutex
			peers := map[string]bool{}
			server.Intercept(func(method string, _ http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				peers[r.RemoteAddr] = true
				return false
			})
			for range 30 {
				call(t, sources, upstream.Echo, map[string]any{"text": "x"})
				call(t, sources, upstream.Put, map[string]any{"name": "a"})
			}
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, len(peers), 20, "of 60 calls")
		})
	}
}
