package store_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestAnEffectiveConfigIsReadFromItsRows(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	_, err := opened.Effective(ctx, key("a"))
	require.ErrorIs(t, err, store.ErrNotFound)

	own := wanted(key("a"))
	put(t, opened, own)
	got, err := opened.Effective(ctx, key("a"))
	require.NoError(t, err)
	require.Equal(t, store.Effective{Desired: own, Credential: store.ConnectionCredential(own.Key)}, got)

	_, err = opened.PutEngine(ctx, store.Engine{ID: "f", BaseURL: "http://127.0.0.1:4097"})
	require.NoError(t, err)
	putWorkspace(t, opened, store.Workspace{ID: "w", Directory: "/d", EngineID: "f", Account: "acme"})
	got, err = opened.Effective(ctx, key("a"))
	require.NoError(t, err)
	require.Equal(t, "f", got.EngineID)
	require.Equal(t, "acme", got.Account)

	shared := sharedConfig("acme", "a")
	putShared(t, opened, shared)
	putShared(t, opened, sharedConfig("other", "a"))
	got, err = opened.Effective(ctx, key("a"))
	require.NoError(t, err)
	require.True(t, got.Shared)
	require.Equal(t, shared.Config, got.Config)
	require.Equal(t, shared.TokenSource, got.TokenSource)
	require.Equal(t, store.AccountCredential("acme", "a"), got.Credential)

	put := putIntent(t, opened, store.Intent{Account: "acme", Name: "a", Kind: store.IntentDisabled, By: "me", Reason: "why", UpdatedAt: monday})
	putIntent(t, opened, store.Intent{Account: "other", Name: "a", Kind: store.IntentRemoved})
	putIntent(t, opened, store.Intent{Workspace: "w", Name: "b", Kind: store.IntentRemoved})
	got, err = opened.Effective(ctx, key("a"))
	require.NoError(t, err)
	require.False(t, *got.Config.Enabled)
	require.Equal(t, &put, got.Intent)
	require.False(t, got.Removed)

	existed, err := opened.DeleteAccountDesired(ctx, "acme", "a")
	require.NoError(t, err)
	require.True(t, existed)
	got, err = opened.Effective(ctx, key("a"))
	require.NoError(t, err)
	require.False(t, got.Shared, "the own config is there again")
}

func TestADamagedRowMattersOnlyWhereItCounts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, tamper  string
		shared        bool
		removed       bool
		table, column string // empty: it does not matter
	}{
		{"own config", `UPDATE connection_desired SET config = x'00'`, false, false, "connection_desired", "config"},
		{"own token source", `UPDATE connection_desired SET token_source = x'00'`, false, false, "connection_desired", "token_source"},
		{"own config under a shared one", `UPDATE connection_desired SET config = x'00'`, true, false, "", ""},
		{"shared config", `UPDATE account_desired SET config = x'00'`, true, false, "account_desired", "config"},
		{"shared config of another account", `DELETE FROM account_desired WHERE account = 'acme'; UPDATE account_desired SET account = 'acme'`, true, false, "account_desired", "config"},
		{"shared config under other rules", `UPDATE account_desired SET profile = 'openwork'`, true, false, "account_desired", "config"},
		{"removed", `UPDATE account_desired SET config = x'00'; UPDATE connection_desired SET config = x'00'`, true, true, "", ""},
		{"workspace in another account", `UPDATE workspace SET account = 'other'`, true, false, "workspace", "seal"},
		{"workspace on another engine", `UPDATE workspace SET engine_id = NULL`, true, false, "workspace", "seal"},
		{"seal of another workspace", `UPDATE workspace SET seal = (SELECT seal FROM workspace WHERE id = 'w2') WHERE id = 'w'`, false, false, "workspace", "seal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			opened, dir := open(t)
			put(t, opened, wanted(key("a")))
			putWorkspace(t, opened, store.Workspace{ID: "w", Directory: "/d", EngineID: "e", Account: "acme"})
			putWorkspace(t, opened, store.Workspace{ID: "w2", Directory: "/d", EngineID: "e", Account: "acme"})
			if tc.shared {
				putShared(t, opened, sharedConfig("acme", "a"))
				putShared(t, opened, sharedConfig("other", "a"))
			}
			if tc.removed {
				putIntent(t, opened, store.Intent{Workspace: "w", Name: "a", Kind: store.IntentRemoved})
			}
			tamper(t, dir, tc.tamper)
			got, err := opened.Effective(t.Context(), key("a"))
			if tc.table == "" {
				require.NoError(t, err)
				require.Equal(t, tc.removed, got.Removed)
				return
			}
			var corrupt *store.CorruptRowError
			require.ErrorAs(t, err, &corrupt)
			require.Equal(t, tc.table, corrupt.Table)
			require.Equal(t, tc.column, corrupt.Column)
			require.Zero(t, got)
		})
	}
}

func TestAnEffectiveConfigIsOfOneMoment(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	want := wanted(key("a"))
	want.UpdatedAt = time.UnixMicro(1)
	put(t, opened, want)
	putIntent(t, opened, store.Intent{Workspace: "w", Name: "a", Kind: store.IntentEnabled})

	db, err := sql.Open("sqlite", "file:"+dbPath(dir)+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var group errgroup.Group
	done := make(chan struct{})
	group.Go(func() error {
		defer close(done)
		for i := range 400 {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			kind, at := store.IntentEnabled, 1
			if i%2 == 0 {
				kind, at = store.IntentDisabled, 2
			}
			if _, err := tx.ExecContext(t.Context(), `UPDATE intent SET kind = $1`, string(kind)); err != nil {
				return err
			}
			if _, err := tx.ExecContext(t.Context(), `UPDATE connection_desired SET updated_at = $1`, at); err != nil {
				return err
			}
			if err := tx.Commit(); err != nil {
				return err
			}
		}
		return nil
	})
	seen := map[bool]int{}
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		got, err := opened.Effective(t.Context(), key("a"))
		require.NoError(t, err)
		require.Equal(t, *got.Config.Enabled, got.UpdatedAt.UnixMicro() == 1, "intent and config are of one state")
		seen[*got.Config.Enabled]++
	}
	require.NoError(t, group.Wait())
	require.Len(t, seen, 2, "both states were there to be read")
}

func TestKeysAreThoseThatShouldBe(t *testing.T) {
	t.Parallel()
	opened, _ := open(t)
	ctx := t.Context()
	for _, id := range []string{"f", "unused"} {
		_, err := opened.PutEngine(ctx, store.Engine{ID: id, BaseURL: "http://" + id})
		require.NoError(t, err)
	}
	at := func(workspace, name, directory string) store.Key {
		return store.Key{Workspace: workspace, Name: name, Directory: directory}
	}
	outside := wanted(at("alone", "a", "/d"))
	moved := wanted(at("w1", "own", "/1"))
	hidden := wanted(at("w1", "gone", "/1"))
	covered := wanted(at("w1", "shared", "/1"))
	for _, each := range []store.Desired{outside, moved, hidden, covered} {
		put(t, opened, each)
	}
	for _, each := range []store.Workspace{
		{ID: "w1", Directory: "/1", EngineID: "f", Account: "acme"},
		{ID: "w1", Directory: "/2", EngineID: "e", Account: "acme"},
		{ID: "w2", Directory: "/d", EngineID: "e", Account: "acme"},
		{ID: "w3", Directory: "/d", Account: "acme"},
		{ID: "w4", Directory: "/d", EngineID: "unused"},
	} {
		putWorkspace(t, opened, each)
	}
	for _, name := range []string{"shared", "removed everywhere", "removed in w2"} {
		putShared(t, opened, sharedConfig("acme", name))
	}
	for _, each := range []store.Intent{
		{Workspace: "w1", Name: "gone", Kind: store.IntentRemoved},
		{Account: "acme", Name: "removed everywhere", Kind: store.IntentRemoved},
		{Workspace: "w2", Name: "removed in w2", Kind: store.IntentRemoved},
		{Account: "acme", Name: "removed in w2", Kind: store.IntentDisabled},
		{Account: "acme", Name: "shared", Kind: store.IntentDisabled},
		{Account: "other", Name: "shared", Kind: store.IntentRemoved},
		{Account: store.DefaultAccount, Name: "a", Kind: store.IntentRemoved},
	} {
		putIntent(t, opened, each)
	}
	want := []store.KeyOfEngine{
		{Key: at("alone", "a", "/d"), EngineID: "e"},
		{Key: at("w1", "own", "/1"), EngineID: "f"},
		{Key: at("w1", "removed in w2", "/1"), EngineID: "f"},
		{Key: at("w1", "removed in w2", "/2"), EngineID: "e"},
		{Key: at("w1", "shared", "/1"), EngineID: "f"},
		{Key: at("w1", "shared", "/2"), EngineID: "e"},
		{Key: at("w2", "shared", "/d"), EngineID: "e"},
		{Key: at("w3", "removed in w2", "/d")},
		{Key: at("w3", "shared", "/d")},
	}
	got, err := opened.Keys(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for _, each := range got {
		effective, err := opened.Effective(ctx, each.Key)
		require.NoError(t, err, each.Key)
		require.Equal(t, each.EngineID, effective.EngineID, each.Key)
		require.False(t, effective.Removed, each.Key)
	}
	for _, id := range []string{"e", "f", "unused"} {
		var ofEngine []store.Key
		for _, each := range want {
			if each.EngineID == id {
				ofEngine = append(ofEngine, each.Key)
			}
		}
		found, err := opened.KeysByEngine(ctx, id)
		require.NoError(t, err)
		require.Equal(t, ofEngine, found, id)
	}
	used, err := opened.EnginesInUse(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"e", "f"}, used)
}

func put(t *testing.T, opened *store.Store, want store.Desired) {
	t.Helper()
	_, err := opened.PutDesired(t.Context(), want)
	require.NoError(t, err)
}

func putShared(t *testing.T, opened *store.Store, want store.AccountDesired) {
	t.Helper()
	_, err := opened.PutAccountDesired(t.Context(), want)
	require.NoError(t, err)
}

func putWorkspace(t *testing.T, opened *store.Store, want store.Workspace) {
	t.Helper()
	_, err := opened.PutWorkspace(t.Context(), want)
	require.NoError(t, err)
}

func putIntent(t *testing.T, opened *store.Store, want store.Intent) store.Intent {
	t.Helper()
	put, err := opened.PutIntent(t.Context(), want)
	require.NoError(t, err)
	return put
}

func sharedConfig(account, name string) store.AccountDesired {
	own := wanted(key(name))
	return store.AccountDesired{
		Account: account, Name: name, Profile: own.Profile, Config: own.Config, Metadata: own.Metadata,
		TokenSource: &desired.TokenSource{
			Kind: desired.SourceRefreshToken, TokenURL: "https://auth.example/token", ClientID: "c", RefreshToken: "refresh-s3cr3t",
		},
		UpdatedAt: monday,
	}
}
