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
	"sync"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/filelock"
)

const (
	cliModule = "github.com/temporalio/cli/cmd/temporal"

	// buildTimeout bounds a build on a slow machine with an empty module cache.
	buildTimeout  = 30 * time.Minute
	progressEvery = 3 * time.Second
	// buildTail is how much of the build's output an error shows, in bytes.
	buildTail = 2000
)

// buildCLI builds the pinned CLI into the user cache and returns its path. Of several processes one builds and the others
// wait for it; a build that was cut short leaves nothing behind that could be taken for the CLI.
func buildCLI(ctx context.Context, o CLIOptions) (string, error) {
	dir, err := o.versionDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a program, not a secret
		return "", fmt.Errorf("make directory for temporal cli: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	lock, err := filelock.Acquire(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return "", fmt.Errorf("wait for another build of the temporal cli: %w", err)
	}
	defer func() { _ = lock.Release() }()

	target := filepath.Join(dir, "temporal")
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	staging, err := os.MkdirTemp(dir, ".building-")
	if err != nil {
		return "", fmt.Errorf("make directory for temporal cli: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	if err := runBuild(ctx, o, staging); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(staging, "temporal"), target); err != nil {
		return "", fmt.Errorf("install temporal cli: %w", err)
	}
	return target, nil
}

// runBuild runs `go install` into gobin, with a line of progress every few seconds.
func runBuild(ctx context.Context, o CLIOptions, gobin string) error {
	goCommand := o.GoCommand
	if goCommand == "" {
		goCommand = "go"
	}
	progress := o.Progress
	if progress == nil {
		progress = io.Discard
	}
	output := newTail(buildTail)
	cmd := exec.CommandContext(ctx, goCommand, "install", cliModule+"@"+CLIVersion)
	// Flags and workspaces of the caller, such as -mod=vendor, are not meant for this build.
	cmd.Env = append(childEnv(os.Environ()), "GOBIN="+gobin, "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build temporal cli: %w: install Go or the Temporal CLI, or set %s", err, CLIEnv)
	}
	stop := reportProgress(progress)
	err := cmd.Wait()
	stop()
	if err != nil {
		return errors.Join(
			fmt.Errorf("build temporal cli %s with `go install`: %w: install the Temporal CLI or set %s", CLIVersion, err, CLIEnv),
			errors.New(strings.TrimSpace(output.String())))
	}
	_, _ = fmt.Fprintf(progress, "built the Temporal CLI %s\n", CLIVersion)
	return nil
}

// reportProgress writes a line at once and then every few seconds until the returned function is called.
func reportProgress(w io.Writer) (stop func()) {
	started := time.Now()
	done := make(chan struct{})
	var reporter sync.WaitGroup
	_, _ = fmt.Fprintf(w, "building the Temporal CLI %s (first start only, takes some minutes)\n", CLIVersion)
	reporter.Go(func() {
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				_, _ = fmt.Fprintf(w, "building the Temporal CLI %s: %s\n", CLIVersion, time.Since(started).Round(time.Second))
			}
		}
	})
	return func() {
		close(done)
		reporter.Wait()
	}
}
