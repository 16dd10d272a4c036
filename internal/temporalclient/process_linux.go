package temporalclient

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the child when the thread that started it ends, and so also when this process is
// killed. The caller must start the child on a locked thread and keep that thread until the child is gone.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
