package temporalclient_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const workingCLI = "#!/bin/sh\necho temporal version 9.9.9\n"

// machine is a pretended machine: directories for PATH, the temporary files and the user cache.
type machine struct{ bin, temp, cache string }

func newMachine(t *testing.T) machine {
	t.Helper()
	return machine{bin: t.TempDir(), temp: t.TempDir(), cache: t.TempDir()}
}

func (m machine) options(extra env) temporalclient.CLIOptions {
	variables := env{"PATH": m.bin}
	for name, value := range extra {
		variables[name] = value
	}
	return temporalclient.CLIOptions{LookupEnv: variables.LookupEnv, TempDir: m.temp, CacheDir: m.cache, NoBuild: true}
}

func (m machine) cached() string {
	return filepath.Join(m.cache, "holdfast", "temporal-cli", temporalclient.CLIVersion, "temporal")
}

func script(t *testing.T, path, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o700))
	return path
}

func TestFindCLITriesThePlacesInOrder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	explicit := script(t, filepath.Join(t.TempDir(), "mine"), workingCLI)
	onPath := script(t, filepath.Join(m.bin, "temporal"), workingCLI)
	download := script(t, filepath.Join(m.temp, "temporal-cli-go-sdk-1.51.0"), workingCLI)
	cached := script(t, m.cached(), workingCLI)

	for _, want := range []temporalclient.CLI{
		{Path: explicit, Source: "env"},
		{Path: onPath, Source: "path"},
		{Path: download, Source: "sdk-cache"},
		{Path: cached, Source: "user-cache"},
	} {
		want.Version = "temporal version 9.9.9"
		var extra env
		if want.Source == "env" {
			extra = env{temporalclient.CLIEnv: explicit}
		}
		found, err := temporalclient.FindCLI(t.Context(), m.options(extra))
		require.NoError(t, err)
		require.Equal(t, want, found)
		require.NoError(t, os.Remove(want.Path))
	}
}

func TestFindCLIPassesOverACLIThatDoesNotWork(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script(t, filepath.Join(m.bin, "temporal"), "#!/bin/sh\nexit 1\n")
	script(t, filepath.Join(m.temp, "temporal-cli-go-sdk-1.51.0"), "#!/bin/sh\necho something else\n")
	cached := script(t, m.cached(), workingCLI)

	found, err := temporalclient.FindCLI(t.Context(), m.options(nil))

	require.NoError(t, err)
	require.Equal(t, cached, found.Path)
}

func TestFindCLIDoesNotReplaceTheOneThatWasAskedFor(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	script(t, filepath.Join(m.bin, "temporal"), workingCLI)

	_, err := temporalclient.FindCLI(t.Context(), m.options(env{temporalclient.CLIEnv: "/no/such/temporal"}))

	var unusable *temporalclient.CLIError
	require.ErrorAs(t, err, &unusable)
	require.Equal(t, "/no/such/temporal", unusable.Path)
	require.ErrorContains(t, err, temporalclient.CLIEnv)
}

func TestFindCLIKeepsSecretsAndSettingsFromTheCLI(t *testing.T) {
	t.Setenv("TEMPORAL_API_KEY", "canary")
	t.Setenv("HOLDFAST_SECRET", "canary")
	m := newMachine(t)
	seen := filepath.Join(m.temp, "seen")
	script(t, filepath.Join(m.bin, "temporal"), "#!/bin/sh\nenv > "+seen+"\necho temporal version 9.9.9\n")

	_, err := temporalclient.FindCLI(t.Context(), m.options(nil))

	require.NoError(t, err)
	environ, err := os.ReadFile(seen)
	require.NoError(t, err)
	require.NotContains(t, string(environ), "canary")
	require.Contains(t, string(environ), "PATH=")
}

func TestFindCLIBuildsThePinnedVersionOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	calls := filepath.Join(m.temp, "calls")
	goTool := script(t, filepath.Join(t.TempDir(), "go"), "#!/bin/sh\necho \"$@\" >> "+calls+
		"\nprintf '#!/bin/sh\\necho temporal version built\\n' > \"$GOBIN/temporal\"\nchmod 700 \"$GOBIN/temporal\"\n")

	group, ctx := errgroup.WithContext(t.Context())
	progress := make([]bytes.Buffer, 3)
	for i := range progress {
		group.Go(func() error {
			options := m.options(nil)
			options.NoBuild, options.GoCommand, options.Progress = false, goTool, &progress[i]
			found, err := temporalclient.FindCLI(ctx, options)
			if err == nil && found.Path != m.cached() {
				return &temporalclient.CLIError{Path: found.Path}
			}
			return err
		})
	}

	require.NoError(t, group.Wait())
	called, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "install github.com/temporalio/cli/cmd/temporal@v1.5.1\n", string(called))
	var told strings.Builder
	for i := range progress {
		told.WriteString(progress[i].String())
	}
	require.Contains(t, told.String(), "building the Temporal CLI v1.5.1")
	leftovers, err := filepath.Glob(filepath.Join(filepath.Dir(m.cached()), ".building-*"))
	require.NoError(t, err)
	require.Empty(t, leftovers)
}

func TestFindCLIShowsWhyABuildFailed(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	options := m.options(nil)
	options.NoBuild = false
	options.GoCommand = script(t, filepath.Join(t.TempDir(), "go"), "#!/bin/sh\necho no network here >&2\nexit 1\n")

	_, err := temporalclient.FindCLI(t.Context(), options)

	require.ErrorContains(t, err, "no network here")
	require.ErrorContains(t, err, temporalclient.CLIEnv)
	require.NoFileExists(t, m.cached())
}
