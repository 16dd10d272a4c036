package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binaries are built once per test binary and removed by [RemoveBinaries].
var binaries struct {
	mu    sync.Mutex
	dir   string
	paths map[string]string
}

// Binary builds one of the repository's commands, such as "starter", once, without the race detector.
func Binary(tb testing.TB, command string) string {
	tb.Helper()
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	if path, ok := binaries.paths[command]; ok {
		return path
	}
	if binaries.dir == "" {
		dir, err := os.MkdirTemp("", "holdfast-bin-*") //nolint:usetesting // it outlives the test that builds first
		if err != nil {
			tb.Fatalf("make folder for binaries: %v", err)
		}
		binaries.dir, binaries.paths = dir, map[string]string{}
	}
	path := filepath.Join(binaries.dir, command)
	build := exec.CommandContext(tb.Context(), "go", "build", "-o", path, "./"+command)
	build.Dir = RepoRoot(tb)
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v\n%s", command, err, out)
	}
	binaries.paths[command] = path
	return path
}

// RemoveBinaries is for the end of TestMain.
func RemoveBinaries() {
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	if binaries.dir != "" {
		_ = os.RemoveAll(binaries.dir)
		binaries.dir, binaries.paths = "", nil
	}
}
