package temporalclient_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDevServerDiesWithAKilledParent(t *testing.T) {
	t.Parallel()
	_ = sharedServer(t) // the CLI is found or built before the clock runs
	self, err := os.Executable()
	require.NoError(t, err)
	parent := exec.CommandContext(t.Context(), self)
	parent.Env = append(os.Environ(), helperEnv+"=1")
	output, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)
	require.NoError(t, syscall.Kill(pid, 0), "the server runs")

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()

	waitFor(t, 10*time.Second, func() bool { return gone(pid) }, "the server is gone")
}

// gone reports whether a process has ended; one that waits for an init that does not collect it counts as ended.
func gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
