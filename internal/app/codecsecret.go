package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// CodecSecretFile is where a secret is kept that nobody chose, in the data directory.
const CodecSecretFile = "codec-secret"

// CodecSecret is the path secret of the codec endpoint: the one of the settings, else one that is made once and kept in
// the data directory with mode 0600. Whoever may read that file may read payloads.
func CodecSecret(cfg config.Config) (string, error) {
	chosen, err := cfg.Codec.Secret()
	if err != nil || chosen != "" {
		return chosen.Reveal(), err
	}
	path := filepath.Join(cfg.DataDir, CodecSecretFile)
	for range 2 {
		kept, err := os.ReadFile(path)
		if err == nil {
			return strings.TrimSpace(string(kept)), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("read codec path secret: %w", err)
		}
		if err := writeOnce(path, temporalclient.NewCodecSecret()+"\n"); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("keep codec path secret: %w", err)
		}
	}
	return "", fmt.Errorf("keep codec path secret: %s cannot be made", path)
}

// writeOnce makes a file complete or not at all: another process that makes it at the same time wins or loses whole.
func writeOnce(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".codec-secret-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(content)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Link(temp.Name(), path)
}
