package e2e_test

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/browser"
)

const (
	devStart   = 2 * time.Minute
	commandEnd = time.Minute
	// demoTurn is longer than the demo's engine takes to drop its registration.
	demoTurn = 90 * time.Second
)

// devProcess is `holdfast dev`, run as a person would.
type devProcess struct {
	t       *testing.T
	dir     string
	binary  string
	process *testkit.Process

	Ready    bool   `json:"ready"`
	Temporal string `json:"temporal"`
	UI       string `json:"ui"`
	Codec    string `json:"codec"`
	Gateway  string `json:"gateway"`
	Token    string `json:"token"`
	Approval string `json:"approval"`
}

func startDev(t *testing.T, dir string) *devProcess {
	t.Helper()
	d := &devProcess{t: t, dir: dir, binary: testkit.Binary(t, "starter")}
	d.process = testkit.Start(t, testkit.Command{
		Path: d.binary, Env: d.environment(),
		Args: []string{
			"dev", "-o", "json", "--temporal-port", "0", "--ui-port", "0", "--listen", "127.0.0.1:0",
			"--worker-health-listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0",
		},
	})
	testkit.Eventually(t, devStart, func() bool {
		line, _, whole := strings.Cut(d.process.Output(), "\n")
		return (whole && json.Unmarshal([]byte(line), d) == nil && d.Ready) || !d.process.Running()
	}, "holdfast dev says that it is ready")
	require.True(t, d.Ready, d.process.Output())
	return d
}

func (d *devProcess) environment() []string {
	return append(os.Environ(), "HOLDFAST_DATA_DIR="+d.dir, "TEMPORAL_ADDRESS=")
}

// run runs a command beside it and returns what it printed.
func (d *devProcess) run(path string, args ...string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), commandEnd)
	defer cancel()
	command := exec.CommandContext(ctx, path, args...)
	command.Env = d.environment()
	var errors strings.Builder
	command.Stderr = &errors
	out, err := command.Output()
	require.NoError(d.t, err, "%v: %s%s", args, out, errors.String())
	return string(out)
}

func (d *devProcess) holdfast(args ...string) string { return d.run(d.binary, args...) }

// temporal runs the stock CLI, which reads in clear through the codec endpoint.
func (d *devProcess) temporal(args ...string) string {
	d.t.Helper()
	cli, err := temporalclient.FindCLI(d.t.Context(), temporalclient.CLIOptions{NoBuild: true})
	require.NoError(d.t, err, "run `make tools`")
	return d.run(cli.Path, append(args, "--address", d.Temporal, "--codec-endpoint", d.Codec)...)
}

// states is the way that the demo's connection took.
func (d *devProcess) states() []string {
	d.t.Helper()
	var transitions []struct{ To string }
	require.NoError(d.t, json.Unmarshal([]byte(d.holdfast("connection", "history", "demo/tools", "-o", "json")), &transitions))
	states := make([]string, 0, len(transitions))
	for _, tr := range transitions {
		states = append(states, tr.To)
	}
	return states
}

func (d *devProcess) demo() (workflowID, runID string) {
	d.t.Helper()
	var got struct{ WorkflowID, RunID string }
	require.NoError(d.t, json.Unmarshal([]byte(d.holdfast("connection", "get", "demo/tools", "-o", "json")), &got))
	return got.WorkflowID, got.RunID
}

// left lists the processes that name the data directory, as every process of a dev does.
func (d *devProcess) left() []string {
	d.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(d.t, err)
	var left []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(raw), d.dir) {
			left = append(left, strings.ReplaceAll(string(raw), "\x00", " "))
		}
	}
	return left
}

func repaired(states []string) bool {
	return strings.HasSuffix(strings.Join(states, " "), "ready stale registering ready")
}

func TestDevShowsARepairTellsTheStockToolsAndContinues(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	d := startDev(t, dir)

	t.Log("the demo is delivered, loses its registration and is repaired, with nobody touching anything")
	testkit.Eventually(t, demoTurn, func() bool { return repaired(d.states()) }, "ready → stale → registering → ready")
	d.stockCLI()
	d.page()
	d.approve()

	t.Log("Ctrl-C ends every process, and a second start goes on")
	before := d.states()
	require.NotEmpty(t, d.left())
	require.NoError(t, d.process.Interrupt(t))
	require.Empty(t, d.left())
	again := startDev(t, dir)
	testkit.Eventually(t, demoTurn, func() bool { return len(again.states()) > len(before) }, "the history goes on")
	require.Equal(t, before, again.states()[:len(before)])
	require.NoError(t, again.process.Interrupt(t))
	require.Empty(t, again.left())
}

// approve opens the printed link as a person does, logs in with the printed token, and agrees.
func (d *devProcess) approve() {
	t := d.t
	t.Helper()
	require.NotEmpty(t, d.Approval, d.process.Output())
	b := browser.New(t)
	b.Open(d.Approval, "the login", func(text string) bool { return strings.Contains(text, "Log in") })
	b.LogIn(d.Token)
	b.Await("the call", func(text string) bool {
		return strings.Contains(text, "notes.delete_note") && strings.Contains(text, "passwords")
	})
	b.Click(`button[value="accept"]`)
	b.Await("what came of it", func(text string) bool { return strings.Contains(text, "deleted passwords") })
}

// stockCLI does with Temporal's own CLI what the README says.
func (d *devProcess) stockCLI() {
	t := d.t
	t.Helper()
	id, _ := d.demo()
	before := len(d.states())
	d.temporal("workflow", "signal", "--workflow-id", id, "--name", "mark-stale")
	testkit.Eventually(t, demoTurn, func() bool {
		states := d.states()
		return len(states) >= before+3 && repaired(states)
	}, "mark-stale by the stock CLI is repaired")
	d.temporal("workflow", "signal", "--workflow-id", id, "--name", "mark-stale", "--input", `"by hand"`)
	testkit.Eventually(t, demoTurn, func() bool {
		return strings.Contains(d.holdfast("connection", "history", "demo/tools", "-o", "json"), "by hand")
	}, "the reason given by the stock CLI is in the history")

	testkit.Eventually(t, demoTurn, func() bool { return repaired(d.states()) }, "it is repaired once more")
	snapshot := d.temporal("workflow", "query", "--workflow-id", id, "--type", "snapshot")
	require.Contains(t, snapshot, "desiredRevision")
	require.Contains(t, snapshot, "ready")
	described := d.temporal("workflow", "describe", "--workflow-id", id)
	require.Contains(t, described, "HoldfastState")
}

// page reads the connection's pages in the Temporal UI as a person does.
func (d *devProcess) page() {
	t := d.t
	t.Helper()
	id, run := d.demo()
	b := browser.New(t)
	base := d.UI + "/namespaces/default/workflows/" + url.PathEscape(id) + "/" + run

	b.Open(base+"/pending-activities", "the last look in words, with its attempts", func(text string) bool {
		return strings.Contains(text, "in sync: connected") && strings.Contains(text, "Attempt")
	})
	b.Shoot("temporal-ui-attempts")
	b.Open(base+"/search-attributes", "the state as a filter", func(text string) bool {
		return strings.Contains(text, "HoldfastState") && strings.Contains(text, "ready")
	})
	b.Shoot("temporal-ui-search-attributes")
	b.Open(base+"/memo", "the published snapshot in clear", func(text string) bool {
		return strings.Contains(text, "desiredRevision") && strings.Contains(text, "appliedRevision")
	})
	b.Shoot("temporal-ui-memo")
	b.Open(base+"/user-metadata", "state, reason and each step in words", func(text string) bool {
		return strings.Contains(text, "ready") && strings.Contains(text, "why: delivered and verified") &&
			strings.Contains(text, "register tools with the engine") &&
			strings.Contains(text, "ask the endpoint of tools for its tools")
	})
	b.Shoot("temporal-ui-metadata")
	b.Open(base+"/history", "the input in clear and the steps of a repair", func(text string) bool {
		return strings.Contains(text, "demo-engine") && strings.Contains(text, "watch tools")
	})
	b.Shoot("temporal-ui-history")
}
