package store_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

func TestTheFilesArePrivate(t *testing.T) {
	t.Parallel()
	_, dir := open(t)
	files, err := filepath.Glob(dbPath(dir) + "*")
	require.NoError(t, err)
	require.Len(t, files, 4, "database, write-ahead log, its index, lock")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

func TestAFileThatOthersCanReadIsMadePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dbPath(dir), nil, 0o644))
	opened, err := openIn(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	info, err := os.Stat(dbPath(dir))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestAnyFileNameWorks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owned, err := keys.Open(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	for _, name := range []string{"with blank.db", "q?mode=ro&x#y.db", "100%25.db", "ü+;'\".db"} {
		path := filepath.Join(dir, "deep", name)
		opened, err := store.Open(t.Context(), store.Options{Path: path, Keys: owned})
		require.NoError(t, err, name)
		_, err = opened.PutEngine(t.Context(), store.Engine{ID: "e", BaseURL: "http://e"})
		require.NoError(t, err, name)
		require.NoError(t, opened.Ping(t.Context()))
		require.NoError(t, opened.Close())
		require.FileExists(t, path)
	}
}

func TestAnotherKeysetIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, replaced string }{{"to seal", "aead"}, {"for revisions", "mac"}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, dir := open(t)
			other := t.TempDir()
			_, err := keys.Open(other)
			require.NoError(t, err)
			data, err := os.ReadFile(filepath.Join(other, tc.replaced+".json"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "keys", tc.replaced+".json"), data, 0o600))

			_, err = openIn(t.Context(), dir)
			var wrong *store.WrongKeysetError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, tc.replaced, wrong.Purpose)
			require.ErrorContains(t, err, dbPath(dir))
			require.ErrorContains(t, err, filepath.Join(dir, "keys"))
		})
	}
}

func TestARotatedKeysetStillFits(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	other, err := keys.Open(filepath.Join(dir, "keys"))
	require.NoError(t, err)
	require.NoError(t, other.Rotate())
	again, err := openIn(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	_, err = again.PutDesired(t.Context(), wanted(key("a")))
	require.NoError(t, err)
	_, err = opened.Desired(t.Context(), key("a"))
	require.NoError(t, err, "a process that was running before the rotation reads it too")
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	_, dir := open(t)
	tamper(t, dir, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`)
	_, err := openIn(t.Context(), dir)
	var newer *store.NewerSchemaError
	require.ErrorAs(t, err, &newer)
	require.Equal(t, int64(999), newer.Found)
	require.ErrorContains(t, err, "use the newer release")
}

func TestAFileThatIsNoDatabaseIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := bytes.Repeat([]byte("something else "), 100)
	require.NoError(t, os.WriteFile(dbPath(dir), content, 0o600))
	_, err := openIn(t.Context(), dir)
	require.ErrorContains(t, err, "no SQLite database")
	require.ErrorContains(t, err, dbPath(dir))
	left, err := os.ReadFile(dbPath(dir))
	require.NoError(t, err)
	require.Equal(t, content, left)
}

func TestPathAndKeysAreNeeded(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), store.Options{Path: dbPath(t.TempDir())})
	require.ErrorContains(t, err, "keysets")
}

func TestWaitingForAnotherWriterEndsWithTheContext(t *testing.T) {
	t.Parallel()
	opened, dir := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	holdWriteLock(t, dir)
	began := time.Now()
	err := opened.PutProbe(ctx, key("a"), store.ProbeState{})
	require.Error(t, err)
	require.Less(t, time.Since(began), 5*time.Second, "not the busy timeout")
	_, err = opened.Probe(t.Context(), key("a"))
	require.NoError(t, err, "reading waits for no writer")
}

func TestGoroutinesThatOpenTogetherShareOneDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			opened, err := openIn(t.Context(), dir)
			if err != nil {
				return err
			}
			defer opened.Close()
			want := wanted(key("shared"))
			want.EngineID = ""
			want.Config.TimeoutMillis = i + 1
			_, err = opened.PutDesired(t.Context(), want)
			return err
		})
	}
	require.NoError(t, group.Wait())
}

func TestProcessesWriteTogether(t *testing.T) {
	t.Parallel()
	const processes = 4
	dir := t.TempDir()
	begun := make([]int, processes)
	var group errgroup.Group
	for i := range processes {
		group.Go(func() (err error) {
			begun[i], err = runWriter(t.Context(), dir, "p"+strconv.Itoa(i))
			return err
		})
	}
	require.NoError(t, group.Wait())

	opened, err := openIn(t.Context(), dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	found, err := opened.ListDesired(t.Context(), store.Filter{})
	require.NoError(t, err)
	require.Len(t, found, processes*writesEach+1, "no write is lost")
	for _, each := range found {
		state, err := opened.Probe(t.Context(), each.Key)
		require.NoError(t, err)
		require.Equal(t, each.Config.TimeoutMillis > 0, state.Canary != nil)
	}
	intents, err := opened.Intents(t.Context(), store.IntentFilter{})
	require.NoError(t, err)
	revisions := map[int64]bool{}
	for _, each := range intents {
		revisions[each.Revision] = true
	}
	require.Len(t, revisions, processes*2, "no two intents have one revision")
	require.Contains(t, revisions, int64(processes*writesEach), "none was left out or given twice")

	total := 0
	for _, each := range begun {
		total += each
	}
	require.Equal(t, 1, total, "of all processes one began the push")
}

func runWriter(ctx context.Context, dir, process string) (int, error) {
	command := exec.CommandContext(ctx, os.Args[0])
	command.Env = append(os.Environ(), writerVariable+"="+dir+"|"+process)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(output)))
}
