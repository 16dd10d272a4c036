package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
)

func disposedInstance(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	key, before := r.deliver(r.want(testkit.EverythingServer(t).MCPURL()))
	for range 3 {
		r.dispose(key.Directory)
		before = r.AwaitRepaired(key, before, unhurried)
		require.Equal(t, *before.DesiredRevision, *before.AppliedRevision)
		require.Equal(t, engineapi.StatusConnected, r.status(key))
		require.True(t, r.works(key))
		r.requireLastStates(key, delivery.Ready, delivery.Stale, delivery.Registering, delivery.Ready)
	}
}

func severalServers(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	everything := testkit.EverythingServer(t)
	elsewhere := scripted(t, simulator.EndpointOptions{})
	one := r.want(everything.MCPURL())
	other := one
	other.Name, other.URL = "other", elsewhere.URL()
	apart := r.want(elsewhere.URL())

	oneKey, oneBefore := r.deliver(one)
	otherKey, otherBefore := r.deliver(other)
	apartKey, apartBefore := r.deliver(apart)
	require.Equal(t, engineapi.StatusConnected, r.status(oneKey), "a second name leaves the first alone")

	r.dispose(one.Directory)
	r.AwaitRepaired(oneKey, oneBefore, unhurried)
	r.AwaitRepaired(otherKey, otherBefore, unhurried)
	for _, key := range []delivery.Key{oneKey, otherKey, apartKey} {
		require.Equal(t, engineapi.StatusConnected, r.status(key), key.Name)
	}
	after := r.AwaitState(apartKey, delivery.Ready, unhurried)
	require.Equal(t, apartBefore.Generation, after.Generation, "the other directory was not touched")
	require.Equal(t, apartBefore.AppliedAt, after.AppliedAt)
}

func symlinkedDirectory(t *testing.T, engine *testkit.Service) {
	r := newReal(t, engine, stack.Options{})
	want := r.want(testkit.EverythingServer(t).MCPURL())
	target := want.Directory
	want.Directory = filepath.Join(directory(t), "link")
	require.NoError(t, os.Symlink(target, want.Directory))

	key, before := r.deliver(want)
	behind := key
	behind.Directory = target
	require.Equal(t, engineapi.StatusConnected, r.status(behind))
	r.dispose(target)
	r.AwaitRepaired(key, before, unhurried)
	require.Equal(t, engineapi.StatusConnected, r.status(behind))
}
