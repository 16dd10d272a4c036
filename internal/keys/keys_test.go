package keys_test

import (
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

func TestKeysetsArePrivateFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "keys")
	_, err := keys.Open(dir)
	require.NoError(t, err)

	folder, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), folder.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), entry.Name())
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{"aead.json", "keys.lock", "mac.json"}, names)
}

func TestASecondOpenHasTheSameKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := keys.Open(dir)
	require.NoError(t, err)
	second, err := keys.Open(dir)
	require.NoError(t, err)
	requireSameKeys(t, first, second)
}

func TestARevisionTagIsABareHMAC(t *testing.T) {
	t.Parallel()
	opened, err := keys.Open(t.TempDir())
	require.NoError(t, err)
	tag, err := opened.MAC().ComputeMAC([]byte("config"))
	require.NoError(t, err)
	require.Len(t, tag, 32)
}

func TestSealedTextOpensOnlyInItsPlace(t *testing.T) {
	t.Parallel()
	opened, err := keys.Open(t.TempDir())
	require.NoError(t, err)
	sealed, err := opened.AEAD().Encrypt([]byte("text"), []byte("here"))
	require.NoError(t, err)
	_, err = opened.AEAD().Decrypt(sealed, []byte("there"))
	require.Error(t, err)
}

func TestGoroutinesThatCreateTogetherShareKeys(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	opened := make([]*keys.Keys, 24)
	var group errgroup.Group
	for i := range opened {
		group.Go(func() (err error) {
			opened[i], err = keys.Open(dir)
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, other := range opened[1:] {
		requireSameKeys(t, opened[0], other)
	}
}

func TestProcessesThatCreateTogetherShareKeys(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "keys")
	outputs := make([]string, 6)
	var group errgroup.Group
	for i := range outputs {
		group.Go(func() error {
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), openDirVariable+"="+dir)
			output, err := command.Output()
			outputs[i] = string(output)
			return err
		})
	}
	require.NoError(t, group.Wait())

	opened, err := keys.Open(dir)
	require.NoError(t, err)
	tag, err := opened.MAC().ComputeMAC([]byte("proof"))
	require.NoError(t, err)
	for _, output := range outputs {
		fields := strings.Fields(output)
		require.Len(t, fields, 2)
		require.Equal(t, hex.EncodeToString(tag), fields[0])
		sealed, err := hex.DecodeString(fields[1])
		require.NoError(t, err)
		plain, err := opened.AEAD().Decrypt(sealed, []byte("place"))
		require.NoError(t, err)
		require.Equal(t, "text", string(plain))
	}
}

func TestACreationThatCrashedIsFinished(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, left string }{
		{"before the first file", ""},
		{"with the sealing keyset only", "aead.json"},
		{"with the revision keyset only", "mac.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir, donor := t.TempDir(), t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o700))
			_, err := keys.Open(donor)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "creating"), nil, 0o600))
			if tc.left != "" {
				copyFile(t, filepath.Join(donor, tc.left), filepath.Join(dir, tc.left))
			}

			_, err = keys.Open(dir)
			require.NoError(t, err)
			if tc.left != "" {
				require.Equal(t, content(t, filepath.Join(donor, tc.left)), content(t, filepath.Join(dir, tc.left)))
			}
			require.NoFileExists(t, filepath.Join(dir, "creating"))
		})
	}
}

func requireSameKeys(t *testing.T, a, b *keys.Keys) {
	t.Helper()
	tag, err := a.MAC().ComputeMAC([]byte("data"))
	require.NoError(t, err)
	require.NoError(t, b.MAC().VerifyMAC(tag, []byte("data")))
	sealed, err := a.AEAD().Encrypt([]byte("text"), nil)
	require.NoError(t, err)
	plain, err := b.AEAD().Decrypt(sealed, nil)
	require.NoError(t, err)
	require.Equal(t, "text", string(plain))
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.WriteFile(to, []byte(content(t, from)), 0o600))
}

func TestPresentSeesWholeAndDamagedKeysets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.False(t, keys.Present(dir))
	require.False(t, keys.Present(filepath.Join(dir, "none")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mac.json"), nil, 0o600))
	require.True(t, keys.Present(dir))
}
