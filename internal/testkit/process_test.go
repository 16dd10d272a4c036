package testkit_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

const patience = 20 * time.Second

func shell(t *testing.T, script string) *testkit.Process {
	t.Helper()
	return testkit.Start(t, testkit.Command{Path: "/bin/sh", Args: []string{"-c", script}})
}

func TestKillEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	process := shell(t, "sleep 600 & echo ready; wait")
	testkit.Eventually(t, patience, func() bool { return strings.Contains(process.Output(), "ready") }, "it runs")
	require.True(t, process.Running())
	process.Kill()
	require.False(t, process.Running())
	testkit.Eventually(t, patience, func() bool { return syscall.Kill(-process.PID(), 0) != nil }, "nobody is left")
	process.Kill()
}

func TestStopReturnsHowTheProcessEnded(t *testing.T) {
	t.Parallel()
	kind := shell(t, "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	testkit.Eventually(t, patience, func() bool { return strings.Contains(kind.Output(), "ready") }, "it runs")
	require.NoError(t, kind.Stop(t))
	rude := shell(t, "trap 'exit 3' INT; echo ready; while :; do sleep 0.05; done")
	testkit.Eventually(t, patience, func() bool { return strings.Contains(rude.Output(), "ready") }, "it runs")
	require.ErrorContains(t, rude.Interrupt(t), "exit status 3")
}

func TestPollGivesUpAtItsDeadline(t *testing.T) {
	t.Parallel()
	require.False(t, testkit.Poll(t, 20*time.Millisecond, func() bool { return false }))
	calls := 0
	require.True(t, testkit.Poll(t, patience, func() bool { calls++; return calls == 3 }))
}

func TestFreePortsAreUsable(t *testing.T) {
	t.Parallel()
	require.Positive(t, testkit.FreePort(t))
}
