package testkit

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// RepoRoot returns the folder of go.mod.
func RepoRoot(tb testing.TB) string {
	tb.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		tb.Fatal("find repository: the binary carries no source paths")
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		tb.Fatalf("find repository: %v", err)
	}
	return root
}

// testbedFile returns a file of the pinned npm packages and fails the test, naming the remedy, when it is missing.
func testbedFile(tb testing.TB, path ...string) string {
	tb.Helper()
	file := filepath.Join(append([]string{RepoRoot(tb), "testbed", "node_modules"}, path...)...)
	if _, err := os.Stat(file); err != nil {
		tb.Fatalf("%s is missing: run make tools", file)
	}
	return file
}
