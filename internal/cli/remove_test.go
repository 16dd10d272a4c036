package cli_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

func TestRemoveTakesTheWishAwayBeforeItDisconnects(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	key := l.want("/srv/acme")
	l.store(func(st *store.Store) {
		require.NoError(t, st.PutProbe(t.Context(), key, store.ProbeState{LastProbeAt: time.Now(), Misses: 1}))
	})
	l.connections.update = func(string) (connection.Health, error) {
		rows, _ := l.wanted()
		require.Empty(t, rows, "intent is durable first")
		return standing(delivery.NotDesired, ""), nil
	}
	require.Zero(t, l.run("connection", "remove", "acme/search", "-o", "json"), l.stderr)
	require.Equal(t, map[string]any{"wasDesired": true, "disconnected": true}, pick(document[map[string]any](l), "wasDesired", "disconnected"))
	l.store(func(st *store.Store) {
		state, err := st.Probe(t.Context(), key)
		require.NoError(t, err)
		require.Zero(t, state)
	})
}

func pick(from map[string]any, names ...string) map[string]any {
	picked := map[string]any{}
	for _, name := range names {
		picked[name] = from[name]
	}
	return picked
}

func TestRemoveOfWhatDoesNotRunIsFine(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	require.Zero(t, l.run("connection", "remove", "acme/search"), l.stderr)
	require.Contains(t, l.stderr.String(), "history: holdfast connection history acme/search --directory /srv/acme\n")
	require.Equal(t, cli.ExitNotFound, l.run("connection", "remove", "acme/search", "--directory", "/srv/acme"))
}

func TestRemoveWithNoWorkerSaysWhatIsLeftAndCanBeFinished(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	l.connections.update = func(string) (connection.Health, error) {
		return connection.Health{}, fmt.Errorf("remove connection: %w", connection.ErrNoWorker)
	}
	require.Equal(t, cli.ExitError, l.run("connection", "remove", "acme/search"))
	require.Contains(t, l.stderr.String(), "run the same command again")
	s := standing(delivery.NotDesired, "").Delivery
	l.connections.listed = []connection.Listed{{Workspace: "acme", Name: "search", Snapshot: &s}}
	l.connections.update = func(string) (connection.Health, error) { return standing(delivery.NotDesired, ""), nil }
	require.Zero(t, l.run("connection", "remove", "acme/search"), l.stderr)
}

func TestMarkStaleHandsTheReasonOn(t *testing.T) {
	t.Parallel()
	l := prepared(t)
	l.want("/srv/acme")
	require.Zero(t, l.run("connection", "mark-stale", "acme/search", "--reason", "token was leaked"), l.stderr)
	require.Equal(t, "token was leaked", l.connections.reason)
	require.Contains(t, l.stderr.String(), "connection watch acme/search")
}
