package keys_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

func TestRotationKeepsWhatWasSealedBefore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened, err := keys.Open(dir)
	require.NoError(t, err)
	before, err := opened.AEAD().Encrypt([]byte("old"), nil)
	require.NoError(t, err)
	tag, err := opened.MAC().ComputeMAC([]byte("config"))
	require.NoError(t, err)

	require.NoError(t, opened.Rotate())
	after, err := opened.AEAD().Encrypt([]byte("new"), nil)
	require.NoError(t, err)
	require.NotEqual(t, before[:5], after[:5], "the new key seals")

	again, err := keys.Open(dir)
	require.NoError(t, err)
	requireOpens(t, again, before, "old")
	requireOpens(t, again, after, "new")
	require.NoError(t, again.MAC().VerifyMAC(tag, []byte("config")), "revisions do not change")
}

func TestARunningReaderTakesUpARotationMadeElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reader, err := keys.Open(dir)
	require.NoError(t, err)
	writer, err := keys.Open(dir)
	require.NoError(t, err)
	require.NoError(t, writer.Rotate())
	sealed, err := writer.AEAD().Encrypt([]byte("new"), nil)
	require.NoError(t, err)
	requireOpens(t, reader, sealed, "new")
}

func TestRotationsFromManySidesAreAllKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sealed := make([][]byte, 8)
	var group errgroup.Group
	for i := range sealed {
		group.Go(func() error {
			opened, err := keys.Open(dir)
			if err != nil {
				return err
			}
			if err := opened.Rotate(); err != nil {
				return err
			}
			sealed[i], err = opened.AEAD().Encrypt([]byte("text"), nil)
			return err
		})
	}
	require.NoError(t, group.Wait())
	last, err := keys.Open(dir)
	require.NoError(t, err)
	for _, each := range sealed {
		requireOpens(t, last, each, "text")
	}
}

func TestWhatACrashLeftUnfinishedIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened, err := keys.Open(dir)
	require.NoError(t, err)
	left := filepath.Join(dir, "unfinished-123")
	require.NoError(t, os.WriteFile(left, []byte("half a keyset"), 0o600))
	require.NoError(t, opened.Rotate())
	require.NoFileExists(t, left)
}

func TestRotationRefusesADamagedKeyset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opened, err := keys.Open(dir)
	require.NoError(t, err)
	path := filepath.Join(dir, "aead.json")
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	var refused *keys.RefusedError
	require.ErrorAs(t, opened.Rotate(), &refused)
	require.Equal(t, "damaged", content(t, path))
}

func requireOpens(t *testing.T, opened *keys.Keys, sealed []byte, want string) {
	t.Helper()
	plain, err := opened.AEAD().Decrypt(sealed, nil)
	require.NoError(t, err)
	require.Equal(t, want, string(plain))
}
