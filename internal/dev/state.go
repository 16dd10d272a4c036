package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/internal/cli"
)

// writeState says where a running `holdfast dev` serves: the other commands find it by that. The file holds the codec's
// path secret and has mode 0600.
func writeState(dataDir string, s cli.DevInfo) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", cli.DevInfoFile, err)
	}
	path := filepath.Join(dataDir, cli.DevInfoFile)
	temp := path + ".new"
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", cli.DevInfoFile, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", cli.DevInfoFile, err)
	}
	return nil
}

func removeState(dataDir string) error {
	err := os.Remove(filepath.Join(dataDir, cli.DevInfoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
