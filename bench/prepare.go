package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var errNoSources = errors.New("find sources: run it inside the repository, as `make bench` does")

// prepare makes a folder for the run and builds worker and gateway into it.
func prepare(ctx context.Context, o options) (*bench, func(), error) {
	root, err := repository()
	if err != nil {
		return nil, nil, err
	}
	b := &bench{options: o, root: root, dir: o.keep}
	cleanUp := func() {}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
			return nil, nil, err
		}
		cleanUp = func() { _ = os.RemoveAll(b.dir) }
	} else if err = os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, nil, err
	}
	b.worker, b.gateway = filepath.Join(b.dir, "holdfast-worker"), filepath.Join(b.dir, "holdfast-gateway")
	overlay, err := b.overlay()
	if err != nil {
		cleanUp()
		return nil, nil, err
	}
	for target, source := range map[string]string{b.worker: "./worker", b.gateway: "./gateway"} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o", target, source)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			cleanUp()
			return nil, nil, fmt.Errorf("build %s: %w: %s", source, err, out)
		}
	}
	return b, cleanUp, nil
}

// repository is the folder of go.mod above the working directory.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNoSources
		}
		dir = parent
	}
}

// loadAverage is what else this machine is busy with: the averages over 1, 5 and 15 minutes.
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(raw))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
