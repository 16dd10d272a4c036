package simulator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/simulator/contract"
)

func TestSimulatedEngineFulfilsTheContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, func(tb testing.TB, password string) contract.Engine {
		tb.Helper()
		return contractEngine{tb, newEngine(tb, simulator.EngineOptions{Password: password})}
	})
}

type contractEngine struct {
	tb testing.TB
	*simulator.Engine
}

func (e contractEngine) Restart() {
	e.tb.Helper()
	require.NoError(e.tb, e.Engine.Restart())
}

func newEngine(tb testing.TB, options simulator.EngineOptions) *simulator.Engine {
	tb.Helper()
	engine, err := simulator.NewEngine(options)
	require.NoError(tb, err)
	tb.Cleanup(engine.Close)
	return engine
}

func newEndpoint(tb testing.TB, options simulator.EndpointOptions) *simulator.Endpoint {
	tb.Helper()
	endpoint, err := simulator.NewEndpoint(options)
	require.NoError(tb, err)
	tb.Cleanup(endpoint.Close)
	return endpoint
}
