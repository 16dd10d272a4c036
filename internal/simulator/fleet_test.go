package simulator_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAThousandClientsAreCheap(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, simulator.EndpointOptions{})
	engines := make([]*simulator.Engine, 10)
	for i := range engines {
		engines[i] = newEngine(t, simulator.EngineOptions{})
	}
	var group errgroup.Group
	group.SetLimit(16)
	for _, engine := range engines {
		for i := range 100 {
			group.Go(func() error {
				_, err := try(t.Context(), "POST", fmt.Sprintf("%s/mcp?directory=/srv/%d", engine.BaseURL(), i),
					`{"name":"cloud","config":`+remote(endpoint, "")+`}`)
				return err
			})
		}
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 1000, endpoint.Sessions())
	testkit.Eventually(t, patience, func() bool { return endpoint.Count(simulator.GetStream) == 1000 }, "all settled")
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	require.Less(t, memory.HeapAlloc, uint64(128<<20))
	for _, engine := range engines {
		engine.DisposeAll()
		require.JSONEq(t, `{}`, get(t, engine, "/mcp", "/srv/7"))
	}
}
