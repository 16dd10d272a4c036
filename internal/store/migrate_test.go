package store_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// firstRelease turns the database of dir into one of the first release that holds the same rows.
func firstRelease(t *testing.T, dir string) {
	t.Helper()
	now, old := dbPath(dir), filepath.Join(dir, "old.db")
	db, err := sql.Open("sqlite", "file:"+old)
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations/sqlite"))
	require.NoError(t, err)
	_, err = provider.UpTo(t.Context(), 1)
	require.NoError(t, err)
	for _, statement := range []string{
		`ATTACH '` + now + `' AS now`,
		`INSERT INTO keyset_proof SELECT * FROM now.keyset_proof`,
		`INSERT INTO engine SELECT * FROM now.engine`,
		`INSERT INTO connection_desired SELECT workspace, name, directory, engine_id, profile, config, metadata, updated_at FROM now.connection_desired`,
		`INSERT INTO connection_runtime SELECT * FROM now.connection_runtime`,
		`DETACH now`,
	} {
		_, err = db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, db.Close())
	files, err := filepath.Glob(now + "*")
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.Remove(file))
	}
	require.NoError(t, os.Rename(old, now))
}

func TestADatabaseOfTheFirstReleaseKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened, err := openIn(t.Context(), dir)
	require.NoError(t, err)
	for _, id := range []string{"e", "f"} {
		_, err := opened.PutEngine(t.Context(), store.Engine{ID: id, BaseURL: "http://" + id, Password: "pass-s3cr3t", UpdatedAt: monday})
		require.NoError(t, err)
	}
	var rows []store.Desired
	for _, each := range []struct{ workspace, name, directory, engine string }{
		{"agreed", "a", "/1", "e"},
		{"agreed", "b", "/1", "e"},
		{"agreed", "b", "/2", "f"},
		{"at odds", "a", "/d", "e"},
		{"at odds", "b", "/d", "f"},
		{"half", "a", "/d", ""},
		{"half", "b", "/d", "f"},
		{"none", "a", "", ""},
	} {
		want := wanted(store.Key{Workspace: each.workspace, Name: each.name, Directory: each.directory})
		want.EngineID = each.engine
		put(t, opened, want)
		rows = append(rows, want)
	}
	state := store.ProbeState{LastProbeAt: monday, Misses: 3, Canary: []byte("canary")}
	require.NoError(t, opened.PutProbe(t.Context(), rows[0].Key, state))
	require.NoError(t, opened.Close())
	firstRelease(t, dir)

	migrated := again(t, dir)
	got, err := migrated.ListDesired(t.Context(), store.Filter{})
	require.NoError(t, err)
	require.Equal(t, rows, got)
	probe, err := migrated.Probe(t.Context(), rows[0].Key)
	require.NoError(t, err)
	require.Equal(t, state, probe)
	engine, err := migrated.Engine(t.Context(), "f")
	require.NoError(t, err)
	require.Equal(t, "pass-s3cr3t", engine.Password)

	places, err := migrated.Workspaces(t.Context(), store.WorkspaceFilter{})
	require.NoError(t, err)
	for i := range places {
		require.False(t, places[i].UpdatedAt.IsZero())
		places[i].UpdatedAt = monday
	}
	require.Equal(t, []store.Workspace{
		{ID: "agreed", Directory: "/1", EngineID: "e", Account: store.DefaultAccount, UpdatedAt: monday},
		{ID: "agreed", Directory: "/2", EngineID: "f", Account: store.DefaultAccount, UpdatedAt: monday},
		{ID: "half", Directory: "/d", EngineID: "f", Account: store.DefaultAccount, UpdatedAt: monday},
		{ID: "none", Account: store.DefaultAccount, UpdatedAt: monday},
	}, places, "where connections name two engines, each keeps its own")
	for _, each := range rows {
		effective, err := migrated.Effective(t.Context(), each.Key)
		require.NoError(t, err)
		require.Equal(t, each.Config, effective.Config)
		if each.EngineID != "" {
			require.Equal(t, each.EngineID, effective.EngineID)
		}
	}

	_, err = migrated.DeleteWorkspace(t.Context(), "agreed", "/1")
	require.NoError(t, err)
	places, err = again(t, dir).Workspaces(t.Context(), store.WorkspaceFilter{ID: "agreed"})
	require.NoError(t, err)
	require.Len(t, places, 1, "the table is filled once")
}

// beforeGateway turns the database of dir into one of the release that had no gateway.
func beforeGateway(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dbPath(dir))
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, os.DirFS("migrations/sqlite"),
		goose.WithGoMigrations(goose.NewGoMigration(3, nil, nil)))
	require.NoError(t, err)
	_, err = provider.DownTo(t.Context(), 4)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

func TestADatabaseWithoutGatewayKeepsItsTokens(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	require.NoError(t, opened.PutAPIToken(t.Context(), apiToken("a")))
	require.NoError(t, opened.PutSession(t.Context(), session("s")))
	require.NoError(t, opened.Close())
	beforeGateway(t, dir)

	migrated := again(t, dir)
	got, err := migrated.APITokenByID(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, apiToken("a"), got)
	require.NoError(t, migrated.PutSession(t.Context(), session("s")))
}

func TestADamagedRowDoesNotHinderTheMigration(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	put(t, opened, wanted(key("a")))
	elsewhere := wanted(store.Key{Workspace: "v", Name: "a", Directory: "/d"})
	put(t, opened, elsewhere)
	tamper(t, dir, `UPDATE connection_desired SET engine_id = NULL WHERE workspace = 'w'`)
	firstRelease(t, dir)

	migrated := again(t, dir)
	places, err := migrated.Workspaces(t.Context(), store.WorkspaceFilter{})
	require.NoError(t, err)
	require.Len(t, places, 1, "nobody knows who chose the engine of the other")
	require.Equal(t, "v", places[0].ID)
	_, err = migrated.Effective(t.Context(), key("a"))
	requireCorrupt(t, err, "connection_desired", "config", key("a").String())
}

func TestADatabaseIsNotMigratedWithOtherKeysets(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	put(t, opened, wanted(key("a")))
	firstRelease(t, dir)
	owned, err := keys.Open(filepath.Join(dir, "other keys"))
	require.NoError(t, err)
	_, err = store.Open(t.Context(), store.Options{Path: dbPath(dir), Keys: owned})
	var wrong *store.WrongKeysetError
	require.ErrorAs(t, err, &wrong)

	places, err := again(t, dir).Workspaces(t.Context(), store.WorkspaceFilter{})
	require.NoError(t, err, "nothing was sealed with the other keysets")
	require.Len(t, places, 1)
}
