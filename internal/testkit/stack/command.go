package stack

import (
	"os"

	"github.com/holdfast-mcp/holdfast/internal/testkit"
)

// Command is one of the repository's programs on the stack's data, Temporal and tools, for tests that kill processes. env are further
// variables.
func (s *Stack) Command(program string, env ...string) testkit.Command {
	s.TB.Helper()
	cfg := s.Config
	return testkit.Command{
		Path: testkit.Binary(s.TB, program),
		Env: append([]string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + cfg.DataDir, "HOLDFAST_DATA_DIR=" + cfg.DataDir,
			"TEMPORAL_ADDRESS=" + s.Server.Address(), "TEMPORAL_NAMESPACE=" + s.Server.Namespace(),
			"HOLDFAST_TEMPORAL_TASK_QUEUE=" + cfg.Temporal.TaskQueue,
			"HOLDFAST_SOURCES_FILE=" + cfg.Sources.File, "HOLDFAST_POLICY_FILE=" + cfg.Policy.File,
			"HOLDFAST_APPROVALS_WINDOW=" + cfg.Approvals.Window.String(), "HOLDFAST_APPROVALS_HOLD=" + cfg.Approvals.Hold.String(),
			"HOLDFAST_SESSIONS_START=" + cfg.Sessions.Start.String(),
			"HOLDFAST_WORKER_HEALTH_LISTEN=127.0.0.1:0", "HOLDFAST_CODEC_LISTEN=127.0.0.1:0",
		}, env...),
	}
}
