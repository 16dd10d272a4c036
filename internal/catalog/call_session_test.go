package catalog_test

import (
	"maps"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

func TestALostSessionIsOpenedAgainAndTheCallIsMadeOnce(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	for range 3 {
		require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
		require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
		server.Forget()
	}
	require.Equal(t, 3, server.Counts().Effects["a"])
	require.NoError(t, sources.Refresh(t.Context(), "up"))
}

// A6
func TestAnEmptyAnswerInALostSessionIsNoSuccess(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	var mu sync.Mutex
	known, stale := map[string]bool{}, map[string]bool{}
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("Mcp-Session-Id")
		known[id] = true
		if id == "" || !stale[id] || method == http.MethodGet || method == http.MethodDelete {
			return false
		}
		answer(w, r, `"result":{"content":[],"tools":[]}`)
		return true
	})
	sources := open(t, server)
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})))
	require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})))
	mu.Lock()
	stale = maps.Clone(known)
	mu.Unlock()
	require.Equal(t, "x", textOf(t, call(t, sources, upstream.Echo, map[string]any{"text": "x"})), "what may be repeated is")
	failed := fault(t, sources, catalog.CallRequest{Address: "up.put", Arguments: args(t, map[string]any{"name": "a"})})
	require.Equal(t, catalog.CodeProtocol, failed.Code)
	require.True(t, failed.Unknown())
	require.Equal(t, "wrote a", textOf(t, call(t, sources, upstream.Put, map[string]any{"name": "a"})), "the next one has a new session")
}

func TestAnEmptyAnswerOfAToolThatSaysNothingIsOne(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	for range 2 {
		require.Contains(t, string(call(t, sources, upstream.Fail, map[string]any{"how": "empty"}).Result), `"content":[]`)
	}
	require.Equal(t, 2, server.Counts().Calls[upstream.Fail])
}
