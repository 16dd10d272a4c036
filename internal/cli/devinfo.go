package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// DevInfoFile is the file of the data folder in which a running `holdfast dev` says where it serves.
const DevInfoFile = "dev.json"

const maxDevInfoBytes = 64 << 10

// DevInfo is the content of [DevInfoFile].
type DevInfo struct {
	Temporal  string `json:"temporal"` // host:port
	Namespace string `json:"namespace"`
	UI        string `json:"ui"`
	Codec     string `json:"codec"`
	Gateway   string `json:"gateway"`
	// Sources and Rules are the files of tools and of rules on them; empty where there is none.
	Sources string `json:"sources,omitempty"`
	Rules   string `json:"rules,omitempty"`
	PID     int    `json:"pid"` // of the process that serves; the file counts only while it runs
}

// readDevInfo is nil when no `holdfast dev` runs on the data folder.
func readDevInfo(dataDir string) (*DevInfo, error) {
	if dataDir == "" {
		return nil, nil
	}
	path := filepath.Join(dataDir, DevInfoFile)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read where dev serves: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxDevInfoBytes))
	if err != nil {
		return nil, fmt.Errorf("read where dev serves: %w", err)
	}
	var info DevInfo
	if err := json.Unmarshal(raw, &info); err != nil {
		return nil, fmt.Errorf("read where dev serves: %s is damaged: stop holdfast dev, remove the file, start it again", path)
	}
	if info.Temporal == "" || !alive(info.PID) {
		return nil, nil
	}
	return &info, nil
}

// alive asks the operating system; a process of another user counts as running.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return !errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
