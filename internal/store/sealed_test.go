package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestNoSecretIsReadableOnDiskOrInText(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	want := wanted(key("a"))
	want.TokenSource = source("client-s3cr3t")
	put(t, opened, want)
	require.NoError(t, opened.PutProbe(t.Context(), key("a"), store.ProbeState{Canary: []byte("canary-s3cr3t")}))

	shared := sharedConfig("acme", "a")
	putShared(t, opened, shared)
	lease, err := opened.AcquireTokenLease(t.Context(), "c", "me", monday, time.Minute)
	require.NoError(t, err)
	minted := store.Token{Credential: "c", AccessToken: "access-s3cr3t", RefreshToken: "refresh-s3cr3t"}
	require.NoError(t, opened.PutToken(t.Context(), lease, minted))
	ofAPI := store.APIToken{ID: "t", Role: "owner", Hash: []byte("hash-s3cr3t")}
	require.NoError(t, opened.PutAPIToken(t.Context(), ofAPI))
	request, _, err := opened.BeginRequest(t.Context(), store.Request{ID: "r", Principal: "p"})
	require.NoError(t, err)
	_, err = opened.FinishRequest(t.Context(), "r", store.Outcome{Status: 200, Result: []byte("result-s3cr3t"), At: monday})
	require.NoError(t, err)
	request.Result = []byte("result-s3cr3t")

	requireNoSecretOnDisk(t, dir)
	engine, err := opened.Engine(t.Context(), "e")
	require.NoError(t, err)
	for _, each := range []any{engine, want, shared, minted, ofAPI, request, store.Effective{Desired: want}} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", each, each, each), "s3cr3t")
	}
}

func TestNoSecretOfTheGatewayIsReadableOnDiskOrInText(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx := t.Context()
	require.NoError(t, opened.PutSession(ctx, session("s")))
	require.NoError(t, opened.OpenStream(ctx, stream("s", "x", "1")))
	said := store.Event{Session: "s", Stream: "x", Data: []byte("event-s3cr3t")}
	_, err := opened.AppendEvent(ctx, said)
	require.NoError(t, err)
	item := store.InboxItem{Session: "s", Message: []byte("inbox-s3cr3t")}
	_, err = opened.PutInbox(ctx, item)
	require.NoError(t, err)
	putExecution(t, opened, execution(1))
	row := pause(1, 1)
	require.NoError(t, opened.RecordPaused(ctx, row, step(1, 1, store.EventPaused)))
	row.Pause = accepted(row.Pause)
	require.NoError(t, opened.RecordDecided(ctx, row.Pause, nil))
	done := call(1, 1)
	finishCall(t, opened, done)
	done.Result = []byte("result-s3cr3t")
	require.NoError(t, opened.SettleExecution(ctx, keyOf(1), completed(), monday))
	at := direct("a")
	_, _, err = opened.BeginDirect(ctx, []store.Direct{at})
	require.NoError(t, err)
	at.Result = []byte("result-s3cr3t")
	require.NoError(t, opened.FinishDirect(ctx, at))

	requireNoSecretOnDisk(t, dir)
	for _, each := range []any{session("s"), stream("s", "x"), said, item, execution(1), row, done, at} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", each, each, each, each), "s3cr3t")
	}
}

func requireNoSecretOnDisk(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(dbPath(dir) + "*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, string(data), "s3cr3t", file)
	}
}

func TestASealedValueIsReadOnlyInItsOwnCell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper, table, column string }{
		{"config of another row", `UPDATE connection_desired SET config = (SELECT config FROM connection_desired WHERE name = 'b') WHERE name = 'a'`, "connection_desired", "config"},
		{"another column of the row", `UPDATE connection_desired SET config = metadata WHERE name = 'a'`, "connection_desired", "config"},
		{"metadata of another row", `UPDATE connection_desired SET metadata = (SELECT metadata FROM connection_desired WHERE name = 'b') WHERE name = 'a'`, "connection_desired", "metadata"},
		{"the row under another name", `DELETE FROM connection_desired WHERE name = 'a'; UPDATE connection_desired SET name = 'a' WHERE name = 'b'`, "connection_desired", "config"},
		{"sent to another engine", `UPDATE connection_desired SET engine_id = NULL WHERE name = 'a'`, "connection_desired", "config"},
		{"under other rules", `UPDATE connection_desired SET profile = 'openwork' WHERE name = 'a'`, "connection_desired", "config"},
		{"token source of another row", `UPDATE connection_desired SET token_source = (SELECT token_source FROM connection_desired WHERE name = 'b') WHERE name = 'a'`, "connection_desired", "token_source"},
		{"config as token source", `UPDATE connection_desired SET token_source = config WHERE name = 'a'`, "connection_desired", "token_source"},
		{"damaged", `UPDATE connection_desired SET config = zeroblob(80) WHERE name = 'a'`, "connection_desired", "config"},
		{"emptied", `UPDATE connection_desired SET config = x'' WHERE name = 'a'`, "connection_desired", "config"},
		{"in clear", `UPDATE connection_desired SET config = CAST('{}' AS BLOB) WHERE name = 'a'`, "connection_desired", "config"},
		{"no profile", `UPDATE connection_desired SET profile = 'x-s3cr3t' WHERE name = 'a'`, "connection_desired", "profile"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			for _, name := range []string{"a", "b"} {
				want := wanted(key(name))
				want.TokenSource = source("client-s3cr3t")
				put(t, opened, want)
			}
			tamper(t, dir, tc.tamper)

			got, err := opened.Desired(t.Context(), key("a"))
			requireCorrupt(t, err, tc.table, tc.column, key("a").String())
			require.Zero(t, got)
			require.NotErrorIs(t, err, store.ErrNotFound)
			require.NotContains(t, err.Error(), "s3cr3t")

			changed, err := opened.PutDesired(t.Context(), wanted(key("a")))
			require.NoError(t, err, "putting it anew repairs it")
			require.True(t, changed)
			_, err = opened.Desired(t.Context(), key("a"))
			require.NoError(t, err)
		})
	}
}

func TestADamagedRowDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		_, err := opened.PutDesired(t.Context(), wanted(key(name)))
		require.NoError(t, err)
	}
	tamper(t, dir, `UPDATE connection_desired SET config = x'00' WHERE name IN ('b', 'd')`)

	found, err := opened.ListDesired(t.Context(), store.Filter{})
	requireCorrupt(t, err, "connection_desired", "config", key("b").String())
	require.ErrorContains(t, err, key("d").String())
	require.Len(t, found, 2)
	require.Equal(t, "a", found[0].Name)
	require.Equal(t, "c", found[1].Name)

	names, err := opened.KeysByEngine(t.Context(), "e")
	require.NoError(t, err)
	require.Len(t, names, 4)
	existed, err := opened.DeleteDesired(t.Context(), key("b"))
	require.NoError(t, err)
	require.True(t, existed)
}

func TestADamagedEngineIsNamedAndCanBePutAnew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tamper string }{
		{"password of another engine", `UPDATE engine SET password = (SELECT password FROM engine WHERE id = 'f') WHERE id = 'e'`},
		{"sent elsewhere", `UPDATE engine SET base_url = 'http://elsewhere' WHERE id = 'e'`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			_, err := opened.PutEngine(t.Context(), store.Engine{ID: "f", BaseURL: "http://127.0.0.1:4097", Password: "p"})
			require.NoError(t, err)
			tamper(t, dir, tc.tamper)

			_, err = opened.Engine(t.Context(), "e")
			requireCorrupt(t, err, "engine", "password", `"e"`)
			all, err := opened.Engines(t.Context())
			requireCorrupt(t, err, "engine", "password", `"e"`)
			require.Len(t, all, 1)
			changed, err := opened.PutEngine(t.Context(), store.Engine{ID: "e", BaseURL: "http://127.0.0.1:4096"})
			require.NoError(t, err)
			require.True(t, changed)
		})
	}
}

func TestADamagedCanaryLeavesTheRestReadable(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	require.NoError(t, opened.PutProbe(t.Context(), key("a"), store.ProbeState{LastProbeAt: monday, Misses: 2, Canary: []byte("c")}))
	tamper(t, dir, `UPDATE connection_runtime SET canary = x'0102'`)
	state, err := opened.Probe(t.Context(), key("a"))
	requireCorrupt(t, err, "connection_runtime", "canary", key("a").String())
	require.Equal(t, store.ProbeState{LastProbeAt: monday, Misses: 2}, state)
}

func requireCorrupt(t *testing.T, err error, table, column, rowKey string) {
	t.Helper()
	var corrupt *store.CorruptRowError
	require.ErrorAs(t, err, &corrupt)
	require.Equal(t, table, corrupt.Table)
	require.Equal(t, column, corrupt.Column)
	require.Contains(t, corrupt.Key, rowKey)
	require.ErrorContains(t, err, table)
	require.ErrorContains(t, err, rowKey)
}

// tamper changes the database behind the store's back.
func tamper(t *testing.T, dir, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dbPath(dir)+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}
