package temporalclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// CLIVersion is the pinned version of the Temporal CLI that is built when none is found. It is the last one that
	// `go install` accepts: later ones replace modules in their go.mod.
	CLIVersion = "v1.5.1"
	// CLIEnv names the variable that points at a Temporal CLI and wins over every other place.
	CLIEnv = "HOLDFAST_TEMPORAL_CLI"

	// versionTimeout is generous: the binary is 250 MB, and the first start reads it from a cold disk.
	versionTimeout = 30 * time.Second
	// versionOutput bounds what is kept of the version line, in bytes.
	versionOutput = 200
)

// CLI is a Temporal CLI that answered `temporal --version`.
type CLI struct {
	Path string
	// Version is the line that it printed.
	Version string
	// Source is env, path, sdk-cache, user-cache or built.
	Source string
}

// CLIError says that the CLI at a path cannot be used.
type CLIError struct {
	Path  string
	Cause error
}

// Error names the file and the variable that overrides it.
func (e *CLIError) Error() string {
	return fmt.Sprintf("run temporal cli %s: %v: install the Temporal CLI or set %s to a working one", e.Path, e.Cause, CLIEnv)
}

// Unwrap returns the cause.
func (e *CLIError) Unwrap() error { return e.Cause }

// CLIOptions say where to look. The zero value looks where a user of this machine would expect it.
type CLIOptions struct {
	// LookupEnv overrides os.LookupEnv.
	LookupEnv func(string) (string, bool)
	// TempDir overrides os.TempDir, where the SDK keeps its download.
	TempDir string
	// CacheDir overrides the user cache directory; the CLI is <CacheDir>/holdfast/temporal-cli/<version>/temporal.
	CacheDir string
	// GoCommand overrides the go tool that builds the CLI.
	GoCommand string
	// Progress gets a line every few seconds while the CLI is built; nil discards them.
	Progress io.Writer
	// NoBuild fails instead of building.
	NoBuild bool
}

// FindCLI returns a working Temporal CLI: the one named by HOLDFAST_TEMPORAL_CLI (an error if that one does not work), else
// the first that works of `temporal` on PATH, the SDK's cached download and the user cache, else it builds the pinned version
// into the user cache. Any version will do.
func FindCLI(ctx context.Context, o CLIOptions) (CLI, error) {
	lookup := o.LookupEnv
	if lookup == nil {
		lookup = os.LookupEnv
	}
	if path, ok := lookup(CLIEnv); ok && path != "" {
		return checkCLI(ctx, path, "env")
	}
	var failures []error
	for _, candidate := range o.candidates(lookup) {
		cli, err := checkCLI(ctx, candidate.Path, candidate.Source)
		if err == nil {
			return cli, nil
		}
		failures = append(failures, err)
	}
	if err := ctx.Err(); err != nil {
		return CLI{}, fmt.Errorf("find temporal cli: %w", err)
	}
	if o.NoBuild {
		return CLI{}, errors.Join(append(failures, fmt.Errorf("find temporal cli: none found: install it or set %s", CLIEnv))...)
	}
	path, err := buildCLI(ctx, o)
	if err != nil {
		return CLI{}, errors.Join(append(failures, err)...)
	}
	return checkCLI(ctx, path, "built")
}

// candidates lists the files that exist, in the order in which they are tried.
func (o CLIOptions) candidates(lookup func(string) (string, bool)) []CLI {
	var found []CLI
	add := func(path, source string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, CLI{Path: path, Source: source})
		}
	}
	searchPath, _ := lookup("PATH")
	for _, dir := range filepath.SplitList(searchPath) {
		if filepath.IsAbs(dir) { // a relative one would run whatever lies in the working directory
			add(filepath.Join(dir, "temporal"), "path")
		}
	}
	tempDir := o.TempDir
	if tempDir == "" {
		tempDir = os.TempDir()
	}
	downloads, err := filepath.Glob(filepath.Join(tempDir, "temporal-cli-go-sdk-*"))
	if err == nil {
		for _, path := range downloads {
			add(path, "sdk-cache")
		}
	}
	if dir, err := o.versionDir(); err == nil {
		add(filepath.Join(dir, "temporal"), "user-cache")
	}
	return found
}

// versionDir is where the pinned CLI lies in the user cache.
func (o CLIOptions) versionDir() (string, error) {
	cache := o.CacheDir
	if cache == "" {
		var err error
		if cache, err = os.UserCacheDir(); err != nil {
			return "", fmt.Errorf("find user cache directory: %w", err)
		}
	}
	return filepath.Join(cache, "holdfast", "temporal-cli", CLIVersion), nil
}

// checkCLI runs `temporal --version` with a deadline.
func checkCLI(ctx context.Context, path, source string) (CLI, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = childEnv(os.Environ())
	cmd.WaitDelay = time.Second
	output, err := cmd.Output()
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer to --version: %w", ctx.Err())
		}
		return CLI{}, &CLIError{Path: path, Cause: err}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	if !strings.Contains(strings.ToLower(line), "temporal") {
		return CLI{}, &CLIError{Path: path, Cause: errors.New("it is not the Temporal CLI")}
	}
	return CLI{Path: path, Version: line[:min(len(line), versionOutput)], Source: source}, nil
}

// childEnv is the environment of a Temporal CLI that we run: without the connection settings of this process, which would
// change what its flags say, and without our own settings, which may hold secrets.
func childEnv(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "TEMPORAL_") && !strings.HasPrefix(entry, "HOLDFAST_") {
			kept = append(kept, entry)
		}
	}
	return kept
}
