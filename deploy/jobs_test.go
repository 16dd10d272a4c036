package deploy_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

// jobTimeout bounds one job, whose own retries end after a minute.
const jobTimeout = 90 * time.Second

var server *temporalclient.DevServer

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

// runTests runs the tests beside a development server.
func runTests(m *testing.M) int {
	ctx := context.Background()
	cli, err := temporalclient.FindCLI(ctx, temporalclient.CLIOptions{Progress: os.Stderr})
	if err == nil {
		server, err = temporalclient.StartDevServer(ctx, temporalclient.DevServerOptions{CLI: cli, Headless: true})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestJobsPrepareANamespaceAndMayRunAgain(t *testing.T) {
	t.Parallel()
	const namespace = "from-compose"
	for range 2 {
		runJob(t, "temporal-namespace", namespace, nil)
		runJob(t, "temporal-search-attributes", namespace, nil)
	}

	findings := temporalclient.Inspect(t.Context(), dial(t), namespace, 192*time.Hour)

	for _, finding := range findings {
		require.Equal(t, temporalclient.LevelOK, finding.Level, finding.Message)
	}
	require.Len(t, findings, 4)
}

func TestNamespaceJobRaisesButNeverLowersTheRetention(t *testing.T) {
	t.Parallel()
	const namespace = "retention-from-compose"
	runJob(t, "temporal-namespace", namespace, map[string]string{"RETENTION_HOURS": "24"})
	require.Contains(t, runJob(t, "temporal-namespace", namespace, nil), "192 hours")
	require.Contains(t, runJob(t, "temporal-namespace", namespace, map[string]string{"RETENTION_HOURS": "48"}), "192 hours")
}

func TestSearchAttributeJobFailsAtOnceOnATypeClash(t *testing.T) {
	t.Parallel()
	const namespace = "clash-from-compose"
	runJob(t, "temporal-namespace", namespace, nil)
	output, err := job(t, "temporal-search-attributes", namespace, nil, "sed -i 's/create Datetime/create Int/' create-search-attributes.sh")
	require.NoError(t, err, output)

	output, err = job(t, "temporal-search-attributes", namespace, nil, "")

	require.Error(t, err)
	require.Contains(t, output, "HoldfastStateSince already exists and has different type")
	require.NotContains(t, output, "gave up")
}

func TestJobsShowWhyTheyGaveUp(t *testing.T) {
	t.Parallel()
	output, err := job(t, "temporal-namespace", "unreached", map[string]string{
		"TEMPORAL_ADDRESS": "127.0.0.1:1", "ATTEMPTS": "2", "PAUSE": "0",
	}, "")

	require.Error(t, err)
	require.Contains(t, output, "gave up after 2 attempts")
	require.Contains(t, output, "connection refused")
}

func TestSecretsAreMadeOnceAndFitTheirUse(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	copyFile(t, "make-secrets.sh", filepath.Join(root, "make-secrets.sh"))
	made := make(map[string]string)
	for range 2 {
		output, err := exec.CommandContext(t.Context(), "/bin/sh", filepath.Join(root, "make-secrets.sh")).CombinedOutput()
		require.NoError(t, err, string(output))
		for name := range readCompose(t).Secrets {
			content, err := os.ReadFile(filepath.Join(root, "secrets", name))
			require.NoError(t, err)
			require.Regexp(t, `^[0-9a-f]{64}$`, string(content))
			if before, again := made[name]; again {
				require.Equal(t, before, string(content), "a second run replaced %s", name)
			}
			made[name] = string(content)
		}
	}
	info, err := os.Stat(filepath.Join(root, "secrets"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

// runJob runs a job that must succeed and returns what it printed.
func runJob(t *testing.T, name, namespace string, extra map[string]string) string {
	t.Helper()
	output, err := job(t, name, namespace, extra, "")
	require.NoError(t, err, output)
	return output
}

// job runs the command of a service of docker-compose.yml on this machine: its entry point, with its volume at a folder of the
// test, and its environment, with the address of the development server. A change is made to the volume first.
func job(t *testing.T, name, namespace string, extra map[string]string, change string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), jobTimeout)
	defer cancel()
	defined := readCompose(t).Services[name]
	volume := mount(t, defined)
	if change != "" {
		command := exec.CommandContext(ctx, "/bin/sh", "-c", change)
		command.Dir = volume
		require.NoError(t, command.Run())
	}
	var command []string
	for _, argument := range defined.Entrypoint {
		command = append(command, strings.Replace(argument, "/deploy/", volume+"/", 1))
	}
	require.NotEmpty(t, command)

	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Env = []string{"HOME=" + t.TempDir(), "PATH=" + cliFolder(t) + ":/usr/bin:/bin"}
	for variable, value := range defined.Environment {
		run.Env = append(run.Env, variable+"="+value)
	}
	run.Env = append(run.Env, "TEMPORAL_ADDRESS="+server.Address(), "TEMPORAL_NAMESPACE="+namespace)
	for variable, value := range extra {
		run.Env = append(run.Env, variable+"="+value)
	}
	output, err := run.CombinedOutput()
	return string(output), err
}

// mount copies the folder that compose mounts at /deploy.
func mount(t *testing.T, defined service) string {
	t.Helper()
	require.Equal(t, []string{"./deploy/temporal:/deploy:ro"}, defined.Volumes)
	folder := t.TempDir()
	files, err := os.ReadDir("temporal")
	require.NoError(t, err)
	for _, file := range files {
		copyFile(t, filepath.Join("temporal", file.Name()), filepath.Join(folder, file.Name()))
	}
	return folder
}

// cliFolder is a folder that holds the CLI under the name that the scripts use.
func cliFolder(t *testing.T) string {
	t.Helper()
	cli, err := temporalclient.FindCLI(t.Context(), temporalclient.CLIOptions{})
	require.NoError(t, err)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(cli.Path, filepath.Join(folder, "temporal")))
	return folder
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, content, 0o600))
}

func dial(t *testing.T) client.Client {
	t.Helper()
	dialed, err := temporalclient.Dial(t.Context(), temporalclient.Options{
		Role: "test", Address: server.Address(), Plain: true, NoConfigFile: true, Env: noEnv{},
		Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	return dialed
}

// noEnv is an environment without variables.
type noEnv struct{}

func (noEnv) Environ() []string               { return nil }
func (noEnv) LookupEnv(string) (string, bool) { return "", false }
