package keys_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

func TestAKeysetThatCannotBeUsedIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		file   string
		spoil  func(t *testing.T, path string)
		reason keys.Reason
		advice string
	}{
		{"truncated", "aead.json", truncate, keys.ReasonMalformed, "restore it from a backup"},
		{"truncated revisions", "mac.json", truncate, keys.ReasonMalformed, "restore it from a backup"},
		{"garbage", "aead.json", write("not a keyset, but s3cr3t"), keys.ReasonMalformed, "restore it from a backup"},
		{"other JSON", "mac.json", write(`{"s3cr3t": true}`), keys.ReasonMalformed, "restore it from a backup"},
		{"empty", "aead.json", write(""), keys.ReasonEmpty, "restore it from a backup"},
		{"too large", "aead.json", write(strings.Repeat(" ", 1<<20+1)), keys.ReasonTooLarge, "too large"},
		{"readable by the group", "aead.json", chmod(0o640), keys.ReasonMode, "chmod go="},
		{"readable by the world", "mac.json", chmod(0o604), keys.ReasonMode, "chmod go="},
		{"unreadable: links in a circle", "aead.json", linkToItself, keys.ReasonUnreadable, "give the user"},
		{"unreadable: link to nothing", "mac.json", linkToNothing, keys.ReasonUnreadable, "give the user"},
		{"a folder", "mac.json", replaceByFolder, keys.ReasonUnreadable, "not a regular file"},
		{"the other keyset's kind", "aead.json", takeFrom("mac.json"), keys.ReasonWrongType, "right file"},
		{"the other keyset's kind for revisions", "mac.json", takeFrom("aead.json"), keys.ReasonWrongType, "right file"},
		{"lost", "aead.json", remove, keys.ReasonMissing, "restore it from a backup"},
		{"lost revisions", "mac.json", remove, keys.ReasonMissing, "restore it from a backup"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, err := keys.Open(dir)
			require.NoError(t, err)
			path := filepath.Join(dir, tc.file)
			tc.spoil(t, path)
			before := fingerprint(t, path)

			_, err = keys.Open(dir)
			var refused *keys.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tc.reason, refused.Reason)
			require.Equal(t, path, refused.File)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, tc.advice)
			require.NotContains(t, err.Error(), "s3cr3t")
			require.Equal(t, before, fingerprint(t, path))
		})
	}
}

func TestAFolderThatOthersMayWriteToIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	_, err := keys.Open(dir)
	var refused *keys.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, keys.ReasonMode, refused.Reason)
	require.Equal(t, dir, refused.File)
}

func TestAFileInPlaceOfTheFolderIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := keys.Open(path)
	var refused *keys.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, keys.ReasonUnreadable, refused.Reason)
}

// fingerprint is the content, or the kind of what is there when it has none.
func fingerprint(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
		return "absent"
	}
	if !info.Mode().IsRegular() {
		return info.Mode().String()
	}
	return info.Mode().String() + content(t, path)
}

func write(text string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func chmod(mode os.FileMode) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		require.NoError(t, os.Chmod(path, mode))
	}
}

func takeFrom(other string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		copyFile(t, filepath.Join(filepath.Dir(path), other), path)
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Truncate(path, int64(len(content(t, path))/2)))
}

func linkToItself(t *testing.T, path string) {
	t.Helper()
	remove(t, path)
	require.NoError(t, os.Symlink(path, path))
}

func linkToNothing(t *testing.T, path string) {
	t.Helper()
	remove(t, path)
	require.NoError(t, os.Symlink(path+".absent", path))
}

func replaceByFolder(t *testing.T, path string) {
	t.Helper()
	remove(t, path)
	require.NoError(t, os.Mkdir(path, 0o700))
}

func remove(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.Remove(path))
}
