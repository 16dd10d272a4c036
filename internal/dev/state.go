package dev

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// StateFile says where a running `holdfast dev` serves; it is in the data directory as long as it runs.
const StateFile = "dev.json"

// State is its content.
type State struct {
	Temporal  string `json:"temporal"`
	Namespace string `json:"namespace"`
	UI        string `json:"ui"`
	// Codec holds the path secret; the file has mode 0600.
	Codec string `json:"codec"`
	PID   int    `json:"pid"`
}

func writeState(dataDir string, s State) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", StateFile, err)
	}
	path := filepath.Join(dataDir, StateFile)
	temp := path + ".new"
	if err := os.WriteFile(temp, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", StateFile, err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write %s: %w", StateFile, err)
	}
	return nil
}

func removeState(dataDir string) error {
	err := os.Remove(filepath.Join(dataDir, StateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
