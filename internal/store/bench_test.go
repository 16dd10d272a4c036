package store_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// holdWriteLock takes the lock that every writer needs, until the test ends.
func holdWriteLock(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dbPath(dir)+"?_txlock=immediate")
	require.NoError(t, err)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = tx.Rollback()
		require.NoError(t, db.Close())
	})
}

func BenchmarkDesired(b *testing.B) {
	opened := filled(b)
	for b.Loop() {
		_, err := opened.Desired(b.Context(), key("n500"))
		require.NoError(b, err)
	}
}

func BenchmarkKeysByEngineOf1000(b *testing.B) {
	opened := filled(b)
	for b.Loop() {
		_, err := opened.KeysByEngine(b.Context(), "e")
		require.NoError(b, err)
	}
}

func BenchmarkEffective(b *testing.B) {
	opened := filled(b)
	_, err := opened.PutWorkspace(b.Context(), store.Workspace{ID: "w", Directory: "/d", EngineID: "e"})
	require.NoError(b, err)
	_, err = opened.PutIntent(b.Context(), store.Intent{Workspace: "w", Name: "n500", Kind: store.IntentEnabled})
	require.NoError(b, err)
	for b.Loop() {
		_, err := opened.Effective(b.Context(), key("n500"))
		require.NoError(b, err)
	}
}

func BenchmarkKeysOf1000Workspaces(b *testing.B) {
	opened, _ := open(b)
	for i := range 1000 {
		_, err := opened.PutWorkspace(b.Context(), store.Workspace{ID: fmt.Sprintf("w%d", i), Directory: "/d", EngineID: "e", Account: "acme"})
		require.NoError(b, err)
	}
	_, err := opened.PutAccountDesired(b.Context(), sharedConfig("acme", "a"))
	require.NoError(b, err)
	for b.Loop() {
		found, err := opened.KeysByEngine(b.Context(), "e")
		require.NoError(b, err)
		require.Len(b, found, 1000)
	}
}

func BenchmarkProbe(b *testing.B) {
	opened := filled(b)
	require.NoError(b, opened.PutProbe(b.Context(), key("n500"), store.ProbeState{Canary: []byte("session")}))
	for b.Loop() {
		_, err := opened.Probe(b.Context(), key("n500"))
		require.NoError(b, err)
	}
}

func BenchmarkPutProbe(b *testing.B) {
	opened := filled(b)
	for b.Loop() {
		require.NoError(b, opened.PutProbe(b.Context(), key("n500"), store.ProbeState{LastProbeAt: monday, Canary: []byte("session")}))
	}
}

func BenchmarkPutDesiredUnchanged(b *testing.B) {
	opened := filled(b)
	for b.Loop() {
		changed, err := opened.PutDesired(b.Context(), wanted(key("n500")))
		require.NoError(b, err)
		require.False(b, changed)
	}
}

func filled(b *testing.B) *store.Store {
	b.Helper()
	opened, _ := open(b)
	for i := range 1000 {
		_, err := opened.PutDesired(b.Context(), wanted(key(fmt.Sprintf("n%d", i))))
		require.NoError(b, err)
	}
	b.ResetTimer()
	return opened
}
