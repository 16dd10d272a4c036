package engine_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/engine"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func TestWhatTheEngineRepeatsIsTakenOutOfItsWords(t *testing.T) {
	t.Parallel()
	const header, query = "hd7Kq2vX", "q/4 Tz8m"
	r := newRig(t, peers.Options{})
	r.revision = r.Want(r.key, func(d *store.Desired) {
		d.Config.Headers = map[string]string{"Authorization": "Bearer " + header}
		d.Config.URL += "?k=q%2F4+Tz8m"
	})
	body, err := json.Marshal(map[string]any{"cloud": map[string]string{
		"status": "failed", "error": fmt.Sprintf("cannot reach it with %s, %s or q%%2F4+Tz8m", header, query),
	}})
	require.NoError(t, err)
	r.Engine.Inject(simulator.RouteStatus, simulator.Always, simulator.Fault{Status: http.StatusOK, Body: string(body)})
	looked := r.decide(t, engine.DecisionEntryStatus)
	pushed, err := r.register(t)
	require.NoError(t, err)
	for _, shown := range []any{looked, pushed} {
		raw, err := json.Marshal(shown)
		require.NoError(t, err)
		require.Contains(t, string(raw), "cannot reach it with")
		require.NotContains(t, string(raw), header)
		require.NotContains(t, string(raw), query)
		require.NotContains(t, string(raw), "q%2F4")
	}
}
